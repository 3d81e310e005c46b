"""One connection of a replay, blocking: frames are sent as they were recorded, answers are taken by their opaques."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections import deque
from typing import Final, NamedTuple

from rocketwire.remoting.connection import connected_socket
from rocketwire.wire.addresses import Address
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.errors import WireError
from rocketwire.wire.header import Header, decode_header

_READ: Final = 1 << 18


class ReplayAnswer(NamedTuple):
    """A frame of the endpoint."""

    header: Header
    body: bytes


class ReplayConnectionLost(Exception):
    """The endpoint ended the connection, or did not answer in time; the text says which."""


class ReplayConnection:
    """A connection to an endpoint.

    Raises:
        NotReached: it cannot be made.
    """

    def __init__(self, address: Address, *, timeout: float, tls: ssl.SSLContext | None) -> None:
        self._socket = connected_socket(str(address), address, timeout, tls)
        self._encrypted = tls is not None
        self._timeout = timeout
        self._reader = FrameReader()
        self._answers: dict[int, ReplayAnswer] = {}
        self._requests: deque[ReplayAnswer] = deque()

    def send(self, data: bytes) -> None:
        """Send a frame.

        Raises:
            Lost: the connection has ended.
        """
        try:
            self._socket.settimeout(self._timeout)
            self._socket.sendall(data)
        except OSError as error:
            raise ReplayConnectionLost(f"connection lost: {error.strerror or error}") from error

    def answer(self, opaque: int, within: float) -> ReplayAnswer:
        """Wait for the answer to a request.

        Raises:
            Lost: there is none within so many seconds.
        """
        until = time.monotonic() + within
        while opaque not in self._answers:
            self._receive(until, within)
        return self._answers.pop(opaque)

    def request(self, code: int, within: float) -> ReplayAnswer:
        """Wait for a request of the endpoint itself.

        Raises:
            Lost: there is none within so many seconds.
        """
        until = time.monotonic() + within
        while True:
            for each in self._requests:
                if each.header.code == code:
                    self._requests.remove(each)
                    return each
            self._receive(until, within)

    def _receive(self, until: float, within: float) -> None:
        try:
            self._socket.settimeout(max(0.001, until - time.monotonic()))
            data = self._socket.recv(_READ)
        except TimeoutError:
            raise ReplayConnectionLost(f"none within {within:g} s") from None
        except OSError as error:
            raise ReplayConnectionLost(f"connection lost: {error.strerror or error}") from error
        if not data:
            raise ReplayConnectionLost("connection closed")
        frames, broken = self._reader.receive(memoryview(data))
        try:
            for frame in frames:
                found = ReplayAnswer(decode_header(frame.header, frame.serialize_type), bytes(frame.body))
                if found.header.is_response:
                    self._answers[found.header.opaque] = found
                elif not found.header.is_oneway:
                    self._requests.append(found)
            if broken is not None:
                raise broken
        except WireError as error:
            raise ReplayConnectionLost(f"no frame: {error}") from error

    def end(self) -> None:
        """Send no more; with TLS, which cannot end one direction, nothing happens."""
        if not self._encrypted:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End the connection."""
        self._socket.close()
