"""The limits on what clients may use, and the count of refusals: docs/limits.md.

Begin with `keys`, which declares the limits; `limits` has them in force.
May import: `core`, `config`; `wire`.
"""
