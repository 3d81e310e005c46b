"""Reading an open store: messages of a queue, offsets, store times, keys."""
