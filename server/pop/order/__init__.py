"""Pops in order: the batch of each queue that is out, and when the queue gives messages again."""
