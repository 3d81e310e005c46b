"""Connections: listeners, sessions, reading, answering, bytes in flight, TLS."""
