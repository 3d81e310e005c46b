"""The file of a recording: docs/capture-format.md describes it.

Begin with `events`; `layout` has the bytes.
May import: no other room.
"""
