"""The client with threads: its calls block."""
