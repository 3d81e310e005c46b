"""Streams: the offsets in a checkpoint, how much a micro-batch takes, and the reader of stores.

Begin with `stream`; `queue_stream` is what streams of stores and endpoints share, `offsets` the checkpoint.
May import: `request`, `stores`, `plan`, `read`; `store`, `wire`.
"""
