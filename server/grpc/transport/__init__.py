"""Connections of calls: reading, streams, answers."""
