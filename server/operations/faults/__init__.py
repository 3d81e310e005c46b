"""Faults on purpose, for who writes a client: rules say which requests are struck and how (docs/faults.md)."""
