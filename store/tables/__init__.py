"""The tables in `config/`: topics, subscription groups, offsets, filters.

Begin with `config`, which reads and replaces the files; `versioned_table`, `growing_file` and `saved_table` are their
kinds.
May import: `disk`; `wire`.
"""
