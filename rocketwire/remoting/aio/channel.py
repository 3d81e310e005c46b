"""A connection that tasks share: one task receives, and wakes the others when their answers arrive."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import partial

import anyio
from anyio.abc import AnyByteStream, SocketAttribute
from anyio.streams.tls import TLSStream

from rocketwire.remoting.core.client import ClientSettings
from rocketwire.remoting.core.session import LANGUAGE, ClientRequest, ClientSession, RequestReceived
from rocketwire.remoting.core.steps import ClientReply, PendingResponse, RemoteServer
from rocketwire.remoting.credentials import Signer
from rocketwire.remoting.errors import MessageInvalid, NotReached, reason
from rocketwire.wire.errors import WireError

_FAILED = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


async def connect(
    peer: RemoteServer, settings: ClientSettings, on_request: Callable[[AsyncChannel, RequestReceived], None]
) -> AsyncChannel:
    """A connection to a peer; `on_request` is called with each request of the peer, and must not wait.

    Raises:
        NotReached: the peer cannot be reached.
    """
    host, port = peer.address.host, peer.address.port
    try:
        with anyio.fail_after(settings.timeout):
            plain = await anyio.connect_tcp(host, port)
            own_host = str(plain.extra(SocketAttribute.local_address)[0])  # noqa: S610 - no Django's
            stream: AnyByteStream = plain
            if settings.tls is not None:
                try:
                    stream = await TLSStream.wrap(
                        plain, hostname=host, ssl_context=settings.tls, standard_compatible=False
                    )
                except BaseException:
                    await anyio.aclose_forcefully(plain)
                    raise
    except TimeoutError:
        raise NotReached(str(peer), "cannot be reached: no answer in time") from None
    except (anyio.BrokenResourceError, anyio.EndOfStream) as error:
        cause = error.__cause__
        text = reason(cause) if isinstance(cause, ssl.SSLError) else "the connection failed"
        raise NotReached(str(peer), f"cannot be reached: {text}") from error
    except (OSError, UnicodeError) as error:
        cause = error.__cause__  # of the one address that was tried
        text = reason(cause if isinstance(cause, OSError) else error)
        raise NotReached(str(peer), f"cannot be reached: {text}") from error
    return AsyncChannel(peer, settings, stream, own_host, on_request)


class AsyncChannel:
    """A connection to a peer. `receive` must run as a separate task.

    Attributes:
        own_host: The address of this end.
    """

    def __init__(
        self,
        peer: RemoteServer,
        settings: ClientSettings,
        stream: AnyByteStream,
        own_host: str,
        on_request: Callable[[AsyncChannel, RequestReceived], None],
    ) -> None:
        self._peer = peer
        self._session = ClientSession(
            sign=None if settings.credentials is None else Signer(settings.credentials).signed,
            serialize=settings.serialize,
            language=LANGUAGE,
        )
        self._pending: dict[int, PendingResponse] = {}
        self._failure: NotReached | None = None
        self._stream = stream
        self._sending = anyio.Lock(fast_acquire=True)
        self._timeout = settings.timeout
        self._on_request = on_request
        self.own_host = own_host

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._failure is None

    async def send(self, request: ClientRequest, pending: PendingResponse | None) -> None:
        """Send a request; `pending` is fulfilled with its response. None: it is one-way.

        Raises:
            NotReached: the connection failed.
            MessageInvalid: the request is too long.
        """
        self._check()
        try:
            opaque, data = self._session.request(request, oneway=pending is None)
        except WireError as error:
            raise MessageInvalid(str(error)) from error
        if pending is not None:
            self._pending[opaque] = pending
            pending.forget = partial(self._pending.pop, opaque, None)
        await self._send(data)

    async def reply(self, request: RequestReceived, reply: ClientReply) -> None:
        """Answer a request of the peer.

        Raises:
            NotReached: the connection failed.
        """
        await self._send(self._session.reply(request, code=reply.code, remark=reply.remark, body=reply.body))

    async def receive(self) -> None:
        """Receive until the connection ends."""
        failure = "the client is closed"
        try:
            while self.is_open:
                self._on_data(await self._stream.receive())
        except anyio.EndOfStream:
            failure = "closed the connection"
        except _FAILED:
            failure = "the connection failed"
        finally:
            self._fail(failure)
            await anyio.aclose_forcefully(self._stream)

    def _on_data(self, data: bytes) -> None:
        """Pass on what bytes complete; bytes that are not RocketMQ's protocol end the connection."""
        found, broken = self._session.receive(data)
        for each in found:
            if isinstance(each, RequestReceived):
                self._on_request(self, each)
            elif (pending := self._pending.pop(each.opaque, None)) is not None:
                pending.fulfil(each.answer)
        if broken is not None:
            self._fail(f"does not speak RocketMQ's protocol: {broken}")

    async def _send(self, data: bytes) -> None:
        async with self._sending:
            self._check()
            try:
                with anyio.fail_after(self._timeout):  # a peer that reads nothing must not stop the sender
                    await self._stream.send(data)
            except _FAILED as error:
                raise self._fail("the connection failed") from error
            except anyio.get_cancelled_exc_class():
                self._fail("a send was cancelled")  # half a frame may be sent
                raise

    def _check(self) -> None:
        if self._failure is not None:
            raise NotReached(*self._failure.parts)

    def _fail(self, text: str) -> NotReached:
        """Fail all requests: the connection is over. The first reason counts."""
        failure = NotReached(str(self._peer), text)
        self._failure = self._failure or failure
        for opaque in list(self._pending):
            self._pending.pop(opaque).fulfil(NotReached(*failure.parts))  # each waiter raises another instance
        return failure
