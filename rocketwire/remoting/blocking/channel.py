"""A connection that threads share: a thread of its own receives, and wakes those who wait for answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from rocketwire.remoting.blocking.stream import connect
from rocketwire.remoting.core.client import LANGUAGE, Settings
from rocketwire.remoting.core.session import Answered, Asked, Request, Session
from rocketwire.remoting.core.steps import Peer, Pending, Reply
from rocketwire.remoting.errors import MessageInvalid, NotReached, reason
from rocketwire.wire.errors import WireError


class Channel:
    """A connection to a peer.

    Args:
        peer: Whom to connect to.
        settings: The client's.
        on_request: Called in the receiving thread with each request of the peer; it must not block.

    Raises:
        NotReached: the peer cannot be reached.
    """

    def __init__(self, peer: Peer, settings: Settings, on_request: Callable[[Channel, Asked], None]) -> None:
        self._peer = peer
        self._session = Session(credentials=settings.credentials, serialize=settings.serialize, language=LANGUAGE)
        self._waiting: dict[int, Pending] = {}
        self._lock = threading.Lock()  # of the session's encoding half, the order of sends, and what waits
        self._failure: NotReached | None = None
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
        return self._failure is None

    def close(self) -> None:
        """Close it: whoever waits for an answer gets an error."""
        self._fail(NotReached(str(self._peer), "the client is closed"))

    def post(self, request: Request, pending: Pending) -> None:
        """Send a request; `pending` is fulfilled with its answer.

        Raises:
            NotReached: the connection failed.
            MessageInvalid: the request is too long.
        """
        with self._lock:
            opaque, data = self._encoded(request, oneway=False)
            self._waiting[opaque] = pending
            pending.forget = partial(self._waiting.pop, opaque, None)
        self._send(data)

    def tell(self, request: Request) -> None:
        """Send a one-way request.

        Raises:
            NotReached, MessageInvalid: as with `post`.
        """
        with self._lock:
            _, data = self._encoded(request, oneway=True)
        self._send(data)

    def reply(self, asked: Asked, reply: Reply) -> None:
        """Answer a request of the peer.

        Raises:
            NotReached: the connection failed.
        """
        self._send(self._session.reply(asked, code=reply.code, remark=reply.remark, body=reply.body))

    def _encoded(self, request: Request, *, oneway: bool) -> tuple[int, bytes]:
        if self._failure is not None:
            raise NotReached(*self._failure.parts)
        try:
            return self._session.request(request, oneway=oneway)
        except WireError as error:
            raise MessageInvalid(str(error)) from error

    def _send(self, data: bytes) -> None:
        try:
            self._stream.send(data)
        except OSError as error:
            failure = NotReached(str(self._peer), f"the connection failed: {reason(error)}")
            self._fail(failure)
            raise failure from error

    def _receive(self) -> None:
        try:
            while data := self._stream.receive():
                found, broken = self._session.receive(data)
                for each in found:
                    if isinstance(each, Asked):
                        self._on_request(self, each)
                    elif (pending := self._taken(each)) is not None:
                        pending.fulfil(each.answer)
                if broken is not None:
                    self._fail(NotReached(str(self._peer), f"does not speak RocketMQ's protocol: {broken}"))
                    return
        except OSError as error:
            self._fail(NotReached(str(self._peer), f"the connection failed: {reason(error)}"))
        else:
            self._fail(NotReached(str(self._peer), "closed the connection"))

    def _taken(self, answered: Answered) -> Pending | None:
        with self._lock:
            return self._waiting.pop(answered.opaque, None)

    def _fail(self, failure: NotReached) -> None:
        with self._lock:
            if self._failure is None:
                self._failure = failure
            waiting, self._waiting = list(self._waiting.values()), {}
        self._stream.close()
        for pending in waiting:
            pending.fulfil(NotReached(*failure.parts))  # each waiter raises one of its own
