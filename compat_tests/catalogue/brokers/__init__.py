"""Processes, ports, and Apache's name server and broker."""
