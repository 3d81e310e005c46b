"""Pulls: checks, what is answered, and pulls that wait for a message."""
