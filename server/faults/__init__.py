"""Fault injection, for authors of clients: rules say which requests get which fault (docs/faults.md)."""
