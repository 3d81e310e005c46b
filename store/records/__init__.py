"""Reading stored records in bulk: columns, properties, batches of the log.

Begin with `walk`, which reads a log in batches; `checked_batch` finds which records are valid.
May import: `layout`; `wire`.
"""
