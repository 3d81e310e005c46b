"""Consume queues: the physical offset of each message of a queue."""
