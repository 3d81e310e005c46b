"""Streams: the offsets in a checkpoint, how much a micro-batch takes, and the reader of stores."""
