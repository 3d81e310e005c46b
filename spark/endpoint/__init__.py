"""Reads and writes messages of running endpoints, this or Apache's, over their protocol: the option `namesrv`."""
