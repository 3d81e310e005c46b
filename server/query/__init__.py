"""Queries of messages by key and by id."""
