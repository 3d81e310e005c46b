"""Batch reads of stores: what a task does, from a span of the log to batches of rows."""
