"""Finding messages in a store directory, and summaries of its content.

Begin with `plan`; `select` tests records, `overview` and `summary` count.
May import: `layout`, `records`; `wire`.
"""
