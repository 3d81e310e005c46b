"""The limits on what clients may use: docs/limits.md."""
