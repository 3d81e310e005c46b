"""Reading an open store: messages of a queue, offsets, times, keys."""
