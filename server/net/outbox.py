"""The output buffer of one socket: sends in as few system calls as possible, and copies only where that is cheaper."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final

from rocketwire.wire.frame import Buffer

_MAX_IOVECS: Final = 512
_WORTH_JOINING: Final = 16 * 1024  # below this, copying costs less than a list of buffers


class Outbox:
    """Buffered bytes of one socket.

    Attributes:
        size: How many bytes wait.
        owned: About how many of them are allocated: chunks given as bytes, each until all of it is sent. Views point
            into mapped files.
    """

    __slots__ = ("_chunks", "_first", "_sock", "owned", "size")

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._chunks: deque[Buffer] = deque()
        self._first = 0  # size of the first chunk, once a part of it is sent
        self.owned = 0
        self.size = 0

    def put(self, chunks: Iterable[Buffer]) -> None:
        """Append bytes."""
        for chunk in chunks:
            self._chunks.append(chunk)
            self.size += len(chunk)
            if type(chunk) is bytes:
                self.owned += len(chunk)

    def send(self) -> None:
        """Send what the socket takes now.

        Raises:
            OSError: the connection is broken.
        """
        chunks = self._chunks
        while chunks:
            try:
                if len(chunks) == 1:
                    sent = self._sock.send(chunks[0])
                elif self.size <= _WORTH_JOINING:
                    sent = self._sock.send(b"".join(chunks))
                else:
                    sent = self._sock.sendmsg(islice(chunks, _MAX_IOVECS))
            except (BlockingIOError, InterruptedError):
                return
            self.size -= sent
            if not self.size:
                self.clear()
                return
            while chunks and sent >= len(chunks[0]):
                sent -= self._drop_first()
            if sent:
                self._cut_first(sent)

    def _drop_first(self) -> int:
        """Drop the first chunk, which is sent; return how much of it had not been sent before."""
        chunk = self._chunks.popleft()
        self.owned -= self._first or (len(chunk) if type(chunk) is bytes else 0)
        self._first = 0
        return len(chunk)

    def _cut_first(self, sent: int) -> None:
        """Keep the part of the first chunk that is not sent."""
        chunk = self._chunks[0]
        if type(chunk) is bytes:
            self._first = len(chunk)
        self._chunks[0] = memoryview(chunk)[sent:]

    def clear(self) -> None:
        """Drop all of it."""
        self._chunks.clear()
        self.size = self.owned = self._first = 0
