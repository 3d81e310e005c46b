"""Bytes to values and back: no I/O, no clock. construct is the authority on every layout."""
