"""Time: the wall clock, a clock that can be moved, waiting until a time, and standstills of the process.

Begin with `clock`, the only reader of wall time.
May import: `store`.
"""
