"""Reading the timer files of a store directory.

Begin with `timer`.
May import: `layout`, `timer`; `wire`.
"""
