"""Read-only tools for a store directory: of any broker, at rest or while a broker is writing to it.

`read` finds and reads the files, `plan` summarises them and finds messages, `timer` reads the timer's files, `verify`
looks for damage, `repair` writes a repaired copy and `columns` keeps columns of all messages in a separate folder.
Files of the store are read with pread in blocks: nothing is locked, written, created or memory-mapped,
so a broker may append, and remove old files, meanwhile. No settings are needed: sizes are taken from the files.

Begin with `read`; the other folders follow in the order plan, timer, verify, repair, columns.
May import: `layout`, `disk`, `records`, `tables`, `index`, `timer`; `wire`.
"""
