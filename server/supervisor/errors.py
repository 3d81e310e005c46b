"""What ends a server with several brokers."""

from __future__ import annotations


class BrokerNotStarted(Exception):
    """A broker ended before it was ready for the first time; its own log says why."""
