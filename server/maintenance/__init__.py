"""The store's maintenance: opening, flushing, removing expired files, noticing missing ones.

Begin with `jobs`, the recurring ones; `store_opening` opens the store, `retention` removes expired files.
May import: `core`, `config`; `store`.
"""
