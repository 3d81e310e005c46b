"""A store directory read from outside: of any broker, at rest or being written, by somebody who changes nothing.

`read` finds and reads the files, `plan` says what is in them and looks for messages, `timer` reads the timer's,
`verify` looks for damage and `repair` mends it in a copy. Files are read with pread in blocks: nothing is locked,
written, created or mapped, so a broker may append, and remove old files, meanwhile. No settings are needed: sizes are
those of the files.
"""
