"""What ends a server with several brokers, apart from it: every server's process has to know the error."""

from __future__ import annotations


class BrokerNotStarted(Exception):
    """A broker ended before it was ready for the first time; its own log says why."""
