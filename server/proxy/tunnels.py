"""Tunnels: each client's connection to a broker's port has a separate connection to that broker.

So the numbers of requests, heartbeats, the broker's own requests and long polls need no table here: the broker sees the
client as if it were connected directly, and both ends end together. Frames pass whole and unchanged, but for the ids of
messages in answers to sends: they contain the broker's address, which is replaced by the proxy's.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import trio

from rocketwire.remoting.credentials import unsigned
from rocketwire.server.core.request import Reply
from rocketwire.server.net.outbox import Outbox
from rocketwire.server.net.session import Session
from rocketwire.server.proxy.times import RelayHistograms
from rocketwire.server.upstream.connecting import Connect, UpstreamConnectionError, connect_plain
from rocketwire.wire.addresses import Address
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.errors import FrameError
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode, ResponseCode
from rocketwire.wire.frame import FRAME_PREFIX, LENGTH_SIZE, TYPE_SHIFT, Buffer
from rocketwire.wire.header import Header, decode_header, encode_header
from rocketwire.wire.message_id_hosts import replace_hosts
from rocketwire.wire.signature import ACCESS_KEY

log = logging.getLogger(__name__)

_ACCESS_KEY: Final = ACCESS_KEY.encode()
HIGH_WATER: Final = 1024 * 1024
"""A tunnel with more unsent bytes is full: its broker does not read, and the client is not read either."""
_READ_BYTES: Final = 256 * 1024
_MOST_TIMED: Final = 4096
_MOST_UNANSWERED: Final = 1024
"""So many requests of the broker to one client wait for an answer; the answer to an older one is dropped."""

_read_buffer = memoryview(bytearray(_READ_BYTES))  # shared by all: each read is passed on before the next begins


class Relocation:
    """The broker's address in message ids, and the proxy's in its place: both in hexadecimal digits, as long."""

    __slots__ = ("new", "old")

    def __init__(self, old: bytes, new: bytes) -> None:
        self.old = old
        self.new = new


OnRelayedAnswer: TypeAlias = "Callable[[Header | None, memoryview], None]"
"""Called with the header and body of an answer, or with None if there will be none."""


class RelayCounts:
    """What tunnels have passed on: whole frames, and their bytes."""

    __slots__ = ("down", "down_bytes", "up", "up_bytes")

    def __init__(self) -> None:
        self.up = self.up_bytes = self.down = self.down_bytes = 0


class AdoptedConnection(NamedTuple):
    """A connection to a broker that was used before.

    Attributes:
        sock: Its socket.
        unsent: What was not sent to the broker yet.
        received: What was received of the broker, from the beginning of a frame on, and not passed on yet.
    """

    sock: socket.socket
    unsent: bytes
    received: bytes


class Tunnel:
    """The broker's side of one client's connection.

    Args:
        session: The client's side.
        address: The broker.
        relocation: Returns what to replace in message ids of the broker, once it is connected to; None: nothing.
        on_close: Called once when it is closed.
        begun: An existing connection to the broker.
        connecting: Makes one otherwise.
        passed: Counts.
        times: Measures; None: nothing is measured.
        check_receiver: Returns the client that gets a check of a half message, by its record; None: there are no
            accounts, and this one gets all.
    """

    def __init__(
        self,
        session: Session,
        address: Address,
        relocation: Callable[[Address], Relocation | None],
        on_close: Callable[[Tunnel], None],
        begun: AdoptedConnection | None = None,
        *,
        connecting: Connect = connect_plain,
        passed: RelayCounts,
        times: RelayHistograms | None = None,
        check_receiver: Callable[[memoryview], Session | None] | None = None,
    ) -> None:
        self.session = session
        self.address = address
        self._relocating = relocation
        self._relocation: Relocation | None = None
        self._on_close = on_close
        self._begun = begun
        self._connecting = connecting
        self._passed = passed
        self._sock: socket.socket | None = None
        self._outbox: Outbox | None = None
        self._waiting: list[bytes] = []
        self._unanswered: list[tuple[Header, int]] = []
        self._watching: dict[int, OnRelayedAnswer] = {}
        self._times = times
        self._check_receiver = check_receiver
        self._unanswered_requests: dict[int, None] = {}
        self._timed: dict[int, tuple[int, float, float]] = {}
        self._size = 0
        self._more = trio.Event()
        self._room = trio.Event()
        self._closed = False

    @property
    def full(self) -> bool:
        """Whether the broker does not read."""
        return self._size > HIGH_WATER

    def send(self, frame: RawFrame, header: Header | None) -> None:
        """Pass a frame to the broker; `flush` sends it. `header` is that of a request that gets an answer."""
        data = _encode_frame(frame, frame.header)
        self._size += len(data)
        self._passed.up += 1
        self._passed.up_bytes += len(data)
        if self._outbox is None:
            self._waiting.append(data)
            if header is not None:
                self._unanswered.append((header, frame.serialize_type))
        else:
            self._outbox.put((data,))

    def awaits_answer(self, opaque: int) -> bool:
        """Whether the broker sent this client a request of that number, and waits for its answer; it does no longer.

        Apache's brokers check the number alone: a client that guesses it could answer their requests to other clients.
        Without accounts every answer is passed on.
        """
        if self._check_receiver is None:
            return True
        awaited = opaque in self._unanswered_requests
        self._unanswered_requests.pop(opaque, None)
        return awaited

    def watch(self, opaque: int, watching: OnRelayedAnswer | None) -> None:
        """Have the answer to a request passed to a function, too."""
        if watching is None:
            return
        if self._closed:
            watching(None, memoryview(b""))
        else:
            self._watching[opaque] = watching

    def time(self, opaque: int, code: int, arrived: float) -> None:
        """Measure how long a request takes that is about to be sent."""
        if self._times is not None:
            if len(self._timed) >= _MOST_TIMED:
                self._timed.clear()  # most of them get no answer
            self._timed[opaque] = code, arrived, self._times.now()

    def _answered(self, opaque: int) -> None:
        timed = self._timed.pop(opaque, None)
        if timed is not None and self._times is not None:
            code, arrived, sent = timed
            self._times.upstream_answered(code, self._times.now() - sent)
            self._times.answered(code, arrived)

    def _end_watching(self) -> None:
        watching, self._watching = self._watching, {}
        for each in watching.values():
            each(None, memoryview(b""))

    def flush(self) -> None:
        """Send what the socket takes; a task sends the rest."""
        if self._outbox is None or self._closed:
            return
        try:
            self._outbox.send()
        except OSError:
            self.close()
            return
        self._count(self._outbox.size)
        if self._outbox.size:
            self._more.set()

    async def drained(self) -> None:
        """Wait until it is no longer full, or is closed."""
        while self.full and not self._closed:
            self._room = trio.Event()
            await self._room.wait()

    def _count(self, size: int) -> None:
        self._size = size
        self.session.keep(size)
        if not self.full:
            self._room.set()

    async def run(self, nursery: trio.Nursery) -> None:
        """Connect, and pass on until one end closes; what else the connection needs runs in the nursery."""
        begun = self._begun
        if begun is None:
            try:
                begun = AdoptedConnection(await self._connecting(self.address, nursery), b"", b"")
            except UpstreamConnectionError as error:
                self._refuse_all(error)
                return
        self._begun = None
        self._relocation = self._relocating(self.address)
        sock = self._sock = begun.sock
        if self._closed:
            sock.close()
            return
        self._outbox = Outbox(sock)
        self._outbox.put((begun.unsent, *self._waiting) if begun.unsent else self._waiting)
        self._waiting, self._unanswered = [], []
        self.flush()
        try:
            async with trio.open_nursery() as own:
                own.start_soon(self._write)
                await self._read(sock, begun.received)
                own.cancel_scope.cancel()
        except* (OSError, trio.ClosedResourceError, FrameError) as errors:
            log.debug("tunnel to %(address)s: %(reason)s", {"address": self.address, "reason": errors.exceptions[0]})
        except* Exception:  # whatever a broker sends, only this connection ends
            log.exception("tunnel to %(address)s", {"address": self.address})
        finally:
            self.close()

    def _refuse_all(self, error: UpstreamConnectionError) -> None:
        """Answer what waits; the next request tries again."""
        session = self.session
        remark = f"the broker cannot be reached by the proxy: {error}"
        for header, serialize_type in self._unanswered:
            session.answer(header, serialize_type, Reply(code=ResponseCode.SERVICE_NOT_AVAILABLE, remark=remark))
        session.flush()
        self._closed = True
        self._end_watching()
        self._count(0)
        self._on_close(self)

    async def _write(self) -> None:
        outbox, sock = self._outbox, self._sock
        assert outbox is not None  # noqa: S101 - it is connected
        assert sock is not None  # noqa: S101 - as above
        while True:
            await self._more.wait()
            await trio.lowlevel.wait_writable(sock)
            outbox.send()
            self._count(outbox.size)
            if not outbox.size:
                self._more = trio.Event()

    async def _read(self, sock: socket.socket, received: bytes) -> None:
        session = self.session
        frames = FrameReader(session.in_flight.limits.longest_frame[0])
        self._take(frames, memoryview(received))
        while not self._closed:
            await trio.lowlevel.wait_readable(sock)
            try:
                size = sock.recv_into(_read_buffer)
            except (BlockingIOError, InterruptedError):
                continue
            if not size:
                return
            self._take(frames, _read_buffer[:size])
            if session.congested:
                await session.drained()

    def _take(self, frames: FrameReader, data: memoryview) -> None:
        """Pass on the frames that received bytes complete.

        Raises:
            FrameError: they cannot be read.
        """
        found, broken = frames.receive(data)
        for frame in found:
            self._pass_on(frame)
        self.session.flush()
        if broken is not None:
            raise broken

    def _pass_on(self, frame: RawFrame) -> None:
        """Pass a frame to the client."""
        header = bytes(frame.header)
        if _ACCESS_KEY in header:
            header = _unsigned(header, frame.serialize_type)
        if self._relocation is not None and b"msgId" in header:
            header = replace_hosts(header, frame.serialize_type, self._relocation.old, self._relocation.new)
        data = _encode_frame(frame, header)
        self._passed.down += 1
        self._passed.down_bytes += len(data)
        session = self.session
        if self._check_receiver is not None and self._redirected(frame, data, self._check_receiver):
            return
        if session.intercepts or self._watching or self._timed:
            known = decode_header(header, frame.serialize_type)
            if known.flag & FLAG_RESPONSE:
                self._answered(known.opaque)
                watching = self._watching.pop(known.opaque, None)
                if watching is not None:
                    watching(known, frame.body)
                if session.take_intercepted(known.opaque, data):
                    return
        session.write(data)

    def _redirected(self, frame: RawFrame, data: bytes, check_receiver: Callable[[memoryview], Session | None]) -> bool:
        """Pass the check of a half message to a client that may see it; note another request that wants an answer."""
        header = decode_header(frame.header, frame.serialize_type)
        if header.is_response:
            return False
        if header.code == RequestCode.CHECK_TRANSACTION_STATE:  # of the broker's requests this one has a message
            receiver = check_receiver(frame.body)
            if receiver is not None:
                receiver.write(data)
                receiver.flush()
            return True
        if not header.is_oneway:
            self._unanswered_requests[header.opaque] = None
            if len(self._unanswered_requests) > _MOST_UNANSWERED:
                del self._unanswered_requests[next(iter(self._unanswered_requests))]
        return False

    def close(self) -> None:
        """End both sides; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        if self._sock is not None:
            trio.lowlevel.notify_closing(self._sock)
            self._sock.close()
        self._room.set()
        self._end_watching()
        self._on_close(self)
        self.session.flush()
        self.session.close()


def _unsigned(data: bytes, serialize_type: int) -> bytes:
    """The header of a frame for a client; of a broker's request without a signature.

    4.9.7 forwards requests to consumers (307, 309) as they were signed, and the code of a request is not signed: the
    receiver may send another with the same fields, in the name of the sender, which may be the proxy.
    """
    header = decode_header(data, serialize_type)
    return data if header.is_response else encode_header(unsigned(header), serialize_type)


def _encode_frame(frame: RawFrame, header: Buffer) -> bytes:
    """The bytes of a frame, with this header."""
    head = FRAME_PREFIX.pack(
        len(header) + len(frame.body) + LENGTH_SIZE, frame.serialize_type << TYPE_SHIFT | len(header)
    )
    return b"".join((head, header, frame.body))
