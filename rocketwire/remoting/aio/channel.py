"""A connection that tasks share: one task receives, and wakes the others when their answers arrive."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import anyio
from anyio.abc import AnyByteStream, SocketAttribute
from anyio.streams.tls import TLSStream

from rocketwire.remoting.core.channel_state import ChannelState
from rocketwire.remoting.core.client import ClientSettings
from rocketwire.remoting.core.session import ClientRequest, RequestReceived
from rocketwire.remoting.core.steps import ClientReply, PendingResponse, RemoteServer
from rocketwire.remoting.errors import NotReached, reason

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
        self._state = ChannelState(peer, settings)
        self._stream = stream
        self._sending = anyio.Lock(fast_acquire=True)
        self._timeout = settings.timeout
        self._on_request = on_request
        self.own_host = own_host

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._state.is_open

    async def send(self, request: ClientRequest, pending: PendingResponse | None) -> None:
        """Send a request; `pending` is fulfilled with its response. None: it is one-way.

        Raises:
            NotReached: the connection failed.
            MessageInvalid: the request is too long.
        """
        await self._send(self._state.request(request, pending))

    async def reply(self, request: RequestReceived, reply: ClientReply) -> None:
        """Answer a request of the peer.

        Raises:
            NotReached: the connection failed.
        """
        await self._send(self._state.reply(request, reply))

    async def receive(self) -> None:
        """Receive until the connection ends."""
        failure = "the client is closed"
        try:
            while self.is_open:
                for each in self._state.receive(await self._stream.receive()):
                    self._on_request(self, each)
        except anyio.EndOfStream:
            failure = "closed the connection"
        except _FAILED:
            failure = "the connection failed"
        finally:
            self._state.fail(failure)
            await anyio.aclose_forcefully(self._stream)

    async def _send(self, data: bytes) -> None:
        async with self._sending:
            self._state.check()
            try:
                with anyio.fail_after(self._timeout):  # a peer that reads nothing must not stop the sender
                    await self._stream.send(data)
            except _FAILED as error:
                raise self._state.fail("the connection failed") from error
            except anyio.get_cancelled_exc_class():
                self._state.fail("a send was cancelled")  # half a frame may be sent
                raise
