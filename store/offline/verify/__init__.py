"""Verifying a store directory: every record, and every file that refers to records.

Begin with `verify`; `findings` are its results.
May import: `layout`, `disk`, `records`, `tables`; `wire`.
"""
