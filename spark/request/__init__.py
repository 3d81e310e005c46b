"""What a read is asked for: its options, ranges of offsets, and what the filters of a query narrow them to."""
