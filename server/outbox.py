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
    """

    __slots__ = ("_chunks", "_sock", "size")

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._chunks: deque[Buffer] = deque()
        self.size = 0

    def put(self, chunks: Iterable[Buffer]) -> None:
        """Put bytes behind the others."""
        for chunk in chunks:
            self._chunks.append(chunk)
            self.size += len(chunk)

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
                chunks.clear()
                return
            while chunks and sent >= len(chunks[0]):
                sent -= len(chunks.popleft())
            if sent:
                chunks[0] = memoryview(chunks[0])[sent:]

    def clear(self) -> None:
        """Send nothing of it."""
        self._chunks.clear()
        self.size = 0
