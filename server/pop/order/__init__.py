"""Pops in order: the batch of each queue that is out, and when the queue gives messages again.

Begin with `ordered_queues`, the state of one broker; `batches` has the batch of one queue.
May import: `core`, `topics`, `offsets`; `store`, `wire`.
"""
