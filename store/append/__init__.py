"""Appending messages to commit log, consume queues and index, and flushing them."""
