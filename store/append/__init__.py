"""Appending messages to commit log, consume queues and index, and flushing them.

Begin with `appender`; `group_writer` is the one writer of records, `flusher` and `group_commit` bring them to the disk.
May import: `layout`, `disk`, `log`, `queues`, `index`; `native`, `wire`.
"""
