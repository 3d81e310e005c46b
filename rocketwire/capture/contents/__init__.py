"""What the frames of a recording say: names of codes, answers and their requests, decoded bodies.

Begin with `frames`.
May import: `file`; `wire`.
"""
