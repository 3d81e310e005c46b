"""What waits to be written to one socket: it leaves in as few system calls as may be, copied where that is cheaper."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final

from rocketwire.wire.frame import Buffer

_MAX_IOVECS: Final = 512
_WORTH_JOINING: Final = 16 * 1024  # below this, copying costs less than handing the kernel a list


class Outbox:
    """Bytes on their way into a socket.

    Attributes:
        size: How many bytes wait.
        owned: How many of them, about, are in memory of their own: chunks that were given as bytes, till all of one is
            sent. Views are of files' pages.
    """

    __slots__ = ("_chunks", "_first", "_sock", "owned", "size")

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._chunks: deque[Buffer] = deque()
        self._first = 0  # owned bytes of the first chunk, once a part of it is sent
        self.owned = 0
        self.size = 0

    def put(self, chunks: Iterable[Buffer]) -> None:
        """Put bytes behind the others."""
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
        """Drop the first chunk, all of which is sent; how much of it was left."""
        chunk = self._chunks.popleft()
        self.owned -= self._first or (len(chunk) if type(chunk) is bytes else 0)
        self._first = 0
        return len(chunk)

    def _cut_first(self, sent: int) -> None:
        """Keep what is left of the first chunk."""
        chunk = self._chunks[0]
        if type(chunk) is bytes:
            self._first = len(chunk)
        self._chunks[0] = memoryview(chunk)[sent:]

    def clear(self) -> None:
        """Send nothing of it."""
        self._chunks.clear()
        self.size = self.owned = self._first = 0
