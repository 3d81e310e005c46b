"""The key index: from a message key to records in the commit log.

Begin with `key_index`; `index_file` is one file, `query` finds records.
May import: `layout`, `disk`, `log`; `native`, `wire`.
"""
