"""Batch reads of stores: tasks, from a span of the log to batches of rows."""
