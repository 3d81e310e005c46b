"""Consume queues: where the messages of a queue are in the log."""
