"""Which connections are taken, and what all of them together may hold.

Begin with `admission`, which limits connections; `in_flight` counts the bytes of all.
May import: `core`, `limits`; `wire`.
"""
