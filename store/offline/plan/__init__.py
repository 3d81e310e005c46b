"""Finding messages in a store directory, and summaries of what it holds.

Begin with `plan`; `select` tests records, `overview` and `summary` count.
May import: `layout`, `records`; `wire`.
"""
