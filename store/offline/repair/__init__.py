"""Repairing a store directory: every whole record goes into a new one.

Begin with `repair`.
May import: `layout`, `disk`, `records`; `wire`.
"""
