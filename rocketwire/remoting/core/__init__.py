"""The client without sockets, threads and clocks: what `blocking`, `aio` and the server's `upstream` run.

Begin with `steps`, the steps that operations yield; `session` is a connection, `sending`, `consuming` and `pulling`
are the operations.
May import: `wire`.
"""
