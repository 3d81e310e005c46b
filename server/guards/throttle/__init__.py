"""Quotas: how many messages a second may be sent and received, and what is said when it were more."""
