"""Consume queues: the physical offset of each message of a queue.

Begin with `consume_queue`; `queues` is the table of all.
May import: `layout`, `disk`; `native`, `wire`.
"""
