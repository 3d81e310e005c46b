"""Admission: which connections the server accepts, and the bytes in flight of all.

Begin with `admission`, which limits connections; `in_flight` counts the bytes of all.
May import: `core`, `limits`; `wire`.
"""
