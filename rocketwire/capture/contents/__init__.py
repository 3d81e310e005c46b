"""The content of a recording's frames: names of codes, answers and their requests, decoded bodies.

Begin with `frames`.
May import: `file`; `wire`.
"""
