"""A store directory read from outside: of any broker, at rest or being written, by somebody who changes nothing.

`directory` finds the files, `log`, `queues` and `index` read them, `select` looks for messages. Files are read with
pread in blocks: nothing is locked, written, created or mapped, so a broker may append, and remove old files, meanwhile.
No settings are needed: sizes are those of the files.
"""
