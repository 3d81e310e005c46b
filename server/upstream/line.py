"""A connection to another server: several requests may wait for their answers at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import trio

from rocketwire.wire.addresses import Address
from rocketwire.wire.codes import VERSION_4_9_7
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.errors import WireError
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.java import INT32_MAX

CONNECT_SECONDS: Final = 3.0
LANGUAGE: Final = "PYTHON"
_READ: Final = 64 * 1024
_FAILED: Final = (trio.BrokenResourceError, trio.ClosedResourceError, OSError)


class NotReached(Exception):
    """The other server cannot be reached, does not answer, or does not speak the protocol."""


class Answer(NamedTuple):
    """What the other server answered."""

    code: int
    remark: str | None
    ext: Mapping[str, str]
    body: bytes


class _Waiting:
    """One who waits for an answer."""

    __slots__ = ("answer", "here")

    def __init__(self) -> None:
        self.here = trio.Event()
        self.answer: Answer | None = None


class Line:
    """The connection, while it is open.

    Attributes:
        lost: Set once it has ended.
    """

    def __init__(self, address: Address, stream: trio.SocketStream) -> None:
        self.lost = trio.Event()
        self._address = address
        self._stream = stream
        self._sending = trio.Lock()
        self._waiting: dict[int, _Waiting] = {}
        self._opaque = 0

    async def ask(
        self,
        code: int,
        ext: Mapping[str, str],
        body: bytes = b"",
        *,
        seconds: float = CONNECT_SECONDS,
        language: str = LANGUAGE,
        version: int = VERSION_4_9_7,
    ) -> Answer:
        """The answer to a request.

        Raises:
            NotReached: the connection ended, or there was no answer in time.
        """
        self._opaque = opaque = self._opaque + 1 & INT32_MAX
        waiting = self._waiting[opaque] = _Waiting()
        try:
            with trio.fail_after(seconds):
                header = Header(code=code, opaque=opaque, ext=dict(ext), language=language, version=version)
                await self._send(header, body)
                if not self.lost.is_set():
                    await waiting.here.wait()
        except trio.TooSlowError:
            raise NotReached(f"{self._address} does not answer") from None
        finally:
            self._waiting.pop(opaque, None)
        if waiting.answer is None:
            raise NotReached(f"{self._address} closed the connection")
        return waiting.answer

    async def _send(self, header: Header, body: bytes) -> None:
        async with self._sending:
            try:
                await self._stream.send_all(encode_frame(header, body))
            except _FAILED as error:
                raise NotReached(f"{self._address}: the connection failed") from error
            except trio.Cancelled:
                self.close()  # half a frame may be sent
                raise

    def close(self) -> None:
        """End the connection."""
        self._stream.socket.close()
        self.lost.set()

    async def receive(self) -> None:
        """Take answers until the connection ends."""
        frames = FrameReader()
        try:
            while data := await self._stream.receive_some(_READ):
                found, broken = frames.receive(memoryview(data))
                for serialize_type, head, content in found:
                    header = decode_header(head, serialize_type)
                    waiting = self._waiting.pop(header.opaque, None) if header.is_response else None
                    if waiting is not None:
                        waiting.answer = Answer(header.code, header.remark, header.ext or {}, bytes(content))
                        waiting.here.set()
                if broken is not None:
                    return
        except (*_FAILED, WireError):
            return
        finally:
            self.close()
            for each in self._waiting.values():
                each.here.set()


async def connect(address: Address, nursery: trio.Nursery) -> Line:
    """A connection to a server, whose answers a task of the nursery takes until it is closed.

    Raises:
        NotReached: there is none within CONNECT_SECONDS.
    """
    try:
        with trio.fail_after(CONNECT_SECONDS):
            stream = await trio.open_tcp_stream(address.host, address.port)
    except trio.TooSlowError:
        raise NotReached(f"{address} cannot be reached: no answer in time") from None
    except OSError as error:
        raise NotReached(f"{address} cannot be reached: {error.strerror or error}") from error
    line = Line(address, stream)
    nursery.start_soon(line.receive)
    return line
