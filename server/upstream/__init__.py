"""Servers of other processes that this one asks: connections to them, registration of the broker there."""
