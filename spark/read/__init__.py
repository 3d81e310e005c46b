"""Batch reads of stores: tasks, from a span of the log to batches of rows.

Begin with `reading`, one task; `rows` makes the rows, `gathering` and `walking` read the log.
May import: `request`, `stores`, `plan`; `store`, `wire`.
"""
