"""The proxy that records what passes between clients and an endpoint."""
