"""A connection that tasks share: a task of its own receives, and wakes those who wait for answers."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import partial

import trio

from rocketwire.remoting.core.client import LANGUAGE, Settings
from rocketwire.remoting.core.session import Asked, Request, Session
from rocketwire.remoting.core.steps import Peer, Pending, Reply
from rocketwire.remoting.errors import MessageInvalid, NotReached, reason
from rocketwire.wire.errors import WireError

_FAILED = (trio.BrokenResourceError, trio.ClosedResourceError, OSError)


async def connect(peer: Peer, settings: Settings, on_request: Callable[[Channel, Asked], None]) -> Channel:
    """A connection to a peer; `on_request` is called with each request of the peer, and must not wait.

    Raises:
        NotReached: the peer cannot be reached.
    """
    host, port = peer.address.host, peer.address.port
    try:
        with trio.fail_after(settings.timeout):
            plain = await trio.open_tcp_stream(host, port)
            own_host = str(plain.socket.getsockname()[0])
            stream: trio.abc.Stream = plain
            if settings.tls is not None:
                encrypted = trio.SSLStream(plain, settings.tls, server_hostname=host, https_compatible=True)
                try:
                    await encrypted.do_handshake()
                except BaseException:
                    await trio.aclose_forcefully(plain)
                    raise
                stream = encrypted
    except trio.TooSlowError:
        raise NotReached(str(peer), "cannot be reached: no answer in time") from None
    except trio.BrokenResourceError as error:
        cause = error.__cause__
        text = reason(cause) if isinstance(cause, ssl.SSLError) else "the connection failed"
        raise NotReached(str(peer), f"cannot be reached: {text}") from error
    except (OSError, UnicodeError) as error:
        raise NotReached(str(peer), f"cannot be reached: {reason(error)}") from error
    return Channel(peer, settings, stream, own_host, on_request)


class Channel:
    """A connection to a peer. `receive` must run as a task of its own.

    Attributes:
        own_host: The address of this end.
    """

    def __init__(
        self,
        peer: Peer,
        settings: Settings,
        stream: trio.abc.Stream,
        own_host: str,
        on_request: Callable[[Channel, Asked], None],
    ) -> None:
        self._peer = peer
        self._session = Session(credentials=settings.credentials, serialize=settings.serialize, language=LANGUAGE)
        self._stream = stream
        self._sending = trio.Lock()
        self._waiting: dict[int, Pending] = {}
        self._failure: NotReached | None = None
        self._on_request = on_request
        self.own_host = own_host

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._failure is None

    async def post(self, request: Request, pending: Pending) -> None:
        """Send a request; `pending` is fulfilled with its answer.

        Raises:
            NotReached: the connection failed.
            MessageInvalid: the request is too long.
        """
        opaque, data = self._encoded(request, oneway=False)
        self._waiting[opaque] = pending
        pending.forget = partial(self._waiting.pop, opaque, None)
        await self._send(data)

    async def tell(self, request: Request) -> None:
        """Send a one-way request.

        Raises:
            NotReached, MessageInvalid: as with `post`.
        """
        _, data = self._encoded(request, oneway=True)
        await self._send(data)

    async def reply(self, asked: Asked, reply: Reply) -> None:
        """Answer a request of the peer.

        Raises:
            NotReached: the connection failed.
        """
        await self._send(self._session.reply(asked, code=reply.code, remark=reply.remark, body=reply.body))

    async def receive(self) -> None:
        """Take what comes until the connection ends."""
        failure = NotReached(str(self._peer), "the client is closed")
        try:
            while self.is_open:
                data = await self._stream.receive_some()
                if not data:
                    failure = NotReached(str(self._peer), "closed the connection")
                    return
                found, broken = self._session.receive(bytes(data))
                for each in found:
                    if isinstance(each, Asked):
                        self._on_request(self, each)
                    elif each.opaque in self._waiting:
                        self._waiting.pop(each.opaque).fulfil(each.answer)
                if broken is not None:
                    failure = NotReached(str(self._peer), f"does not speak RocketMQ's protocol: {broken}")
                    return
        except _FAILED:
            failure = NotReached(str(self._peer), "the connection failed")
        finally:
            self._fail(failure)
            await trio.aclose_forcefully(self._stream)

    def _encoded(self, request: Request, *, oneway: bool) -> tuple[int, bytes]:
        if self._failure is not None:
            raise NotReached(*self._failure.parts)
        try:
            return self._session.request(request, oneway=oneway)
        except WireError as error:
            raise MessageInvalid(str(error)) from error

    async def _send(self, data: bytes) -> None:
        async with self._sending:
            if self._failure is not None:
                raise NotReached(*self._failure.parts)
            try:
                await self._stream.send_all(data)
            except _FAILED as error:
                self._fail(NotReached(str(self._peer), "the connection failed"))
                raise NotReached(str(self._peer), "the connection failed") from error
            except trio.Cancelled:
                self._fail(NotReached(str(self._peer), "a send was cancelled"))  # half a frame may be sent
                raise

    def _fail(self, failure: NotReached) -> None:
        if self._failure is None:
            self._failure = failure
        waiting, self._waiting = list(self._waiting.values()), {}
        for pending in waiting:
            pending.fulfil(NotReached(*failure.parts))
