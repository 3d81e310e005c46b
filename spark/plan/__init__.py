"""Splits a read of stores into tasks.

Begin with `planning`; `walk_plan`, `entries` and `id_plan` are the ways to read.
May import: `files`, `request`, `stores`; `store`, `wire`.
"""
