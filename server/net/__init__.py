"""Connections: listeners, sessions, reading, answering, the bytes in flight, TLS."""
