"""The parameters of a read: its options, ranges of offsets, and the pushed filters of a query."""
