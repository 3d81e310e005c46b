"""The start after a stop or a crash."""
