"""Quotas: limits of messages sent and received per second, and what is refused above them."""
