"""Runs scenarios with clients: in threads, with time limits, and again where one did not pass."""
