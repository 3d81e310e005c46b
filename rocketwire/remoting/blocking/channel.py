"""A connection that threads share: a thread of its own receives, and wakes those who wait for answers."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rocketwire.remoting.blocking.stream import connect
from rocketwire.remoting.core.channel_state import ChannelState
from rocketwire.remoting.core.client import ClientSettings
from rocketwire.remoting.core.session import ClientRequest, RequestReceived
from rocketwire.remoting.core.steps import ClientReply, PendingResponse, RemoteServer
from rocketwire.remoting.errors import NotReached, reason


class BlockingChannel:
    """A connection to a peer.

    Args:
        peer: Whom to connect to.
        settings: The client's.
        on_request: Called in the receiving thread with each request of the peer; it must not block.

    Raises:
        NotReached: the peer cannot be reached.
    """

    def __init__(
        self,
        peer: RemoteServer,
        settings: ClientSettings,
        on_request: Callable[[BlockingChannel, RequestReceived], None],
    ) -> None:
        self._state = ChannelState(peer, settings, threading.Lock())
        self._on_request = on_request
        try:
            self._stream = connect(peer.address, settings.tls, settings.timeout)
        except (OSError, UnicodeError) as error:
            raise NotReached(str(peer), f"cannot be reached: {reason(error)}") from error
        self.own_host = self._stream.own_host
        self.thread = threading.Thread(target=self._receive, name=f"rocketwire {peer}", daemon=True)
        self.thread.start()

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._state.is_open

    def close(self) -> None:
        """Close it: whoever waits for an answer gets an error."""
        self._fail("the client is closed")

    def send(self, request: ClientRequest, pending: PendingResponse | None) -> None:
        """Send a request; `pending` is fulfilled with its response. None: it is one-way.

        Raises:
            NotReached: the connection failed.
            MessageInvalid: the request is too long.
        """
        self._send(self._state.request(request, pending))

    def reply(self, asked: RequestReceived, reply: ClientReply) -> None:
        """Answer a request of the peer.

        Raises:
            NotReached: the connection failed.
        """
        self._send(self._state.reply(asked, reply))

    def _send(self, data: bytes) -> None:
        try:
            self._stream.send(data)
        except OSError as error:
            raise self._fail(f"the connection failed: {reason(error)}") from error

    def _receive(self) -> None:
        try:
            while self.is_open and (data := self._stream.receive()):
                for each in self._state.receive(data):
                    self._on_request(self, each)
        except OSError as error:
            self._fail(f"the connection failed: {reason(error)}")
        else:
            self._fail("closed the connection")

    def _fail(self, why: str) -> NotReached:
        failure = self._state.fail(why)
        self._stream.close()
        return failure
