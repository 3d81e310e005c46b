"""Sending recorded requests to an endpoint, and comparing its answers with the recorded ones."""
