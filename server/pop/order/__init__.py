"""Pops in order: the invisible batch of each queue, and when the queue delivers further messages.

Begin with `ordered_queues`, the state of one broker; `batches` has the batch of one queue.
May import: `core`, `topics`, `offsets`; `store`, `wire`.
"""
