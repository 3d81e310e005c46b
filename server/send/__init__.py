"""Sends and replies: checks, what becomes a message in the store, the answer."""
