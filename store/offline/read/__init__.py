"""Read access to the files of a store that a broker may be writing to.

Begin with `directory`, which finds the files; then `log` and `queues`. `file_system` lets them be far away.
May import: `layout`, `disk`, `records`, `index`; `wire`.
"""
