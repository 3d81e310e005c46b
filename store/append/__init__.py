"""Appending to log, queues and index, and getting it onto the disk."""
