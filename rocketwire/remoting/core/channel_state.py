"""The requests on one connection that wait for their responses."""

from __future__ import annotations

from functools import partial

from rocketwire.remoting.core.client import ClientSettings
from rocketwire.remoting.core.session import LANGUAGE, ClientRequest, ClientSession, RequestReceived
from rocketwire.remoting.core.steps import ClientReply, PendingResponse, RemoteServer
from rocketwire.remoting.credentials import Signer
from rocketwire.remoting.errors import MessageInvalid, NotReached
from rocketwire.wire.errors import WireError


class ChannelState:
    """The state of one connection, without the connection.

    Args:
        peer: The other end, for error texts.
        settings: The client's.
    """

    def __init__(self, peer: RemoteServer, settings: ClientSettings) -> None:
        self._peer = peer
        self._session = ClientSession(
            sign=None if settings.credentials is None else Signer(settings.credentials).signed,
            serialize=settings.serialize,
            language=LANGUAGE,
        )
        self._waiting: dict[int, PendingResponse] = {}
        self._failure: NotReached | None = None

    @property
    def is_open(self) -> bool:
        """Whether the connection can be used."""
        return self._failure is None

    def request(self, request: ClientRequest, pending: PendingResponse | None) -> bytes:
        """The bytes of a request; `pending` is fulfilled with its response. None: the request is one-way.

        Raises:
            NotReached: the connection has failed.
            MessageInvalid: the request is too long.
        """
        self.check()
        try:
            opaque, data = self._session.request(request, oneway=pending is None)
        except WireError as error:
            raise MessageInvalid(str(error)) from error
        if pending is not None:
            self._waiting[opaque] = pending
            pending.forget = partial(self._waiting.pop, opaque, None)
        return data

    def reply(self, request: RequestReceived, reply: ClientReply) -> bytes:
        """The bytes of the response to a request of the peer."""
        return self._session.reply(request, code=reply.code, remark=reply.remark, body=reply.body)

    def receive(self, data: bytes) -> list[RequestReceived]:
        """Fulfil what the bytes answer, and return the peer's own requests.

        Nothing more can be received once the connection has failed: bytes that are not RocketMQ's protocol end it.
        """
        found, broken = self._session.receive(data)
        requests: list[RequestReceived] = []
        for each in found:
            if isinstance(each, RequestReceived):
                requests.append(each)
                continue
            pending = self._waiting.pop(each.opaque, None)
            if pending is not None:
                pending.fulfil(each.answer)
        if broken is not None:
            self.fail(f"does not speak RocketMQ's protocol: {broken}")
        return requests

    def check(self) -> None:
        """Refuse a connection that has failed.

        Raises:
            NotReached: it has.
        """
        if self._failure is not None:
            raise NotReached(*self._failure.parts)

    def fail(self, reason: str) -> NotReached:
        """Fail all requests: the connection is over. The first reason counts."""
        failure = NotReached(str(self._peer), reason)
        if self._failure is None:
            self._failure = failure
        waiting, self._waiting = list(self._waiting.values()), {}
        for pending in waiting:
            pending.fulfil(NotReached(*failure.parts))  # each waiter raises another instance
        return failure
