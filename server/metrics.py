"""Counts of what was served, kept where they cost an addition."""

from __future__ import annotations

from collections import Counter
from typing import Final

UNSERVED: Final = -1
"""What all codes that nobody serves are counted under: clients may send any."""


class Metrics:
    """Requests by code, messages and bytes in and out, since the start."""

    __slots__ = ("bytes_in", "bytes_out", "messages_in", "messages_out", "requests")

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.messages_in = 0
        self.bytes_in = 0
        self.messages_out = 0
        self.bytes_out = 0

    def stored(self, messages: int, size: int) -> None:
        """Count messages appended to the commit log and their size in bytes."""
        self.messages_in += messages
        self.bytes_in += size

    def delivered(self, messages: int, size: int) -> None:
        """Count messages handed to consumers and their size in bytes."""
        self.messages_out += messages
        self.bytes_out += size
