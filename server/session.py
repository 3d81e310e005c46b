"""One connection: reads, hands whole frames to the dispatcher, writes answers.

One task reads. Answers gather in an outbox during a read and leave in one system call at its end; what the socket does
not take at once is written by a second task that lives only while something is left. While more than `_HIGH_WATER`
bytes of answers wait, no further request of this connection is read or handled, so a client that never reads its
answers costs a bounded amount of memory and nobody else's time.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Callable
from itertools import count, islice
from typing import Any, Final, Protocol

import trio

from rocketwire.server.addresses import Address
from rocketwire.server.client_calls import ClientCalls
from rocketwire.server.errors import response_code
from rocketwire.server.request import Answer, Reply, Request, SharedReply
from rocketwire.wire.codes import FLAG_ONEWAY, VERSION_4_9_7
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.errors import FrameError, WireError
from rocketwire.wire.frame import Buffer, encode_frame, encode_frame_head
from rocketwire.wire.header import Header
from rocketwire.wire.message import encode_host

log = logging.getLogger(__name__)

READ_BUFFER_BYTES: Final = 256 * 1024
_HIGH_WATER: Final = 4 * 1024 * 1024
_NOTHING: Final = -1
_MAX_IOVECS: Final = 512
_WORTH_JOINING: Final = 16 * 1024  # below this, copying costs less than handing the kernel a list
_JSON: Final = 0
_INT_MAX: Final = 2**31 - 1

_read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))  # one for all: a read is handled before the next begins
_opaques = count(1)


class Dispatcher(Protocol):
    """Takes the frames of one read."""

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Handle frames in order; return how many were handled before the session had to pause.

        Raises:
            FrameError: a frame's header cannot be read; those before it were handled.
        """

    def settle(self) -> None:
        """Do what may wait until the answers are on their way."""


class Session:
    """A client's connection to one listener."""

    __slots__ = (
        "_calls",
        "_closed",
        "_dispatcher",
        "_most_waiting",
        "_nursery",
        "_on_close",
        "_outbox",
        "_outbox_bytes",
        "_reader",
        "_relieved",
        "_sock",
        "_writing",
        "born_host",
        "frame_started",
        "last_activity",
        "remote_text",
    )

    def __init__(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        *,
        dispatcher: Dispatcher,
        nursery: trio.Nursery,
        on_close: Callable[[Session], None],
    ) -> None:
        self._sock = sock
        self._dispatcher = dispatcher
        self._nursery = nursery
        self._on_close = on_close
        self._calls = ClientCalls(nursery)
        self._reader = FrameReader()
        self._outbox: deque[Buffer] = deque()
        self._outbox_bytes = 0
        self._most_waiting = _HIGH_WATER
        self._writing = False
        self._closed = False
        self._relieved: trio.Event | None = None
        host, port = remote
        self.remote_text = str(Address(host=host, port=port))
        self.born_host = encode_host(host, port)
        self.last_activity = trio.current_time()
        self.frame_started: float | None = None

    @property
    def congested(self) -> bool:
        """Whether more answers wait than a client that reads would let wait."""
        return self._outbox_bytes > _HIGH_WATER

    @property
    def pauses(self) -> bool:
        """Whether the rest of this read's requests is to wait: the client does not read, or it is others' turn."""
        return self._outbox_bytes > self._most_waiting

    def let_others(self) -> None:
        """Handle no further request of this read before others had their turn: what this one asked for was long."""
        self._most_waiting = _NOTHING

    async def run(self) -> None:
        """Serve the connection until either end closes it."""
        try:
            while await self._read_once():
                pass
        except (OSError, trio.ClosedResourceError):
            pass  # reset by the peer, or closed from this side
        except Exception:  # a bug in serving one connection must not end the others
            log.exception("closing %s", self.remote_text)
        finally:
            self.close()

    async def _read_once(self) -> bool:
        """Wait for bytes and handle the frames they complete. False: the connection is over."""
        sock = self._sock
        await trio.lowlevel.wait_readable(sock)
        try:
            size = sock.recv_into(_read_buffer)
        except (BlockingIOError, InterruptedError):
            return True
        if not size:
            return False
        self.last_activity = trio.current_time()
        frames, error = self._reader.receive(_read_buffer[:size])
        if self._reader.pending:
            if frames or self.frame_started is None:
                self.frame_started = self.last_activity
        else:
            self.frame_started = None
        while frames and not self._closed:
            try:
                handled = self._dispatcher.serve(self, frames)
            except FrameError as bad_header:
                handled, error = len(frames), bad_header
            self.flush()
            self._dispatcher.settle()
            frames = [RawFrame(kind, memoryview(bytes(h)), memoryview(bytes(b))) for kind, h, b in frames[handled:]]
            await self._others_turn()
        if error is not None:
            log.warning("closing %s: %s", self.remote_text, error)
            while self._outbox:  # what was asked before the nonsense is answered; closing empties it too
                await self._drained()
            return False
        return not self._closed

    async def _others_turn(self) -> None:
        """Wait if it is others' turn, or if the client does not read."""
        if self._most_waiting == _NOTHING:
            self._most_waiting = _HIGH_WATER
            await trio.lowlevel.checkpoint()
        if self.congested:
            await self._drained()

    async def _drained(self) -> None:
        """Wait until the writing task has got rid of the pile."""
        self._relieved = trio.Event()
        await self._relieved.wait()
        if self._closed:
            raise trio.ClosedResourceError

    def write(self, *chunks: Buffer) -> None:
        """Put bytes in the outbox; `flush` sends them. Nothing happens once the connection is closed."""
        if self._closed:
            return
        for chunk in chunks:
            self._outbox.append(chunk)
            self._outbox_bytes += len(chunk)

    def flush(self) -> None:
        """Send what waits; the rest follows as the socket takes it."""
        if self._writing or not self._outbox:
            return
        try:
            self._send_some()
        except OSError:
            self.close()
            return
        if self._outbox and not self._closed:
            self._writing = True
            self._nursery.start_soon(self._write_rest)

    def _send_some(self) -> None:
        outbox = self._outbox
        while outbox:
            try:
                if len(outbox) == 1:
                    sent = self._sock.send(outbox[0])
                elif self._outbox_bytes <= _WORTH_JOINING:
                    sent = self._sock.send(b"".join(outbox))
                else:
                    sent = self._sock.sendmsg(islice(outbox, _MAX_IOVECS))
            except (BlockingIOError, InterruptedError):
                return
            self._outbox_bytes -= sent
            if not self._outbox_bytes:
                outbox.clear()
                return
            while outbox and sent >= len(outbox[0]):
                sent -= len(outbox.popleft())
            if sent:
                outbox[0] = memoryview(outbox[0])[sent:]

    async def _write_rest(self) -> None:
        try:
            while self._outbox and not self._closed:
                await trio.lowlevel.wait_writable(self._sock)
                self._send_some()
                self.last_activity = trio.current_time()
                if not self.congested:
                    self._relieve()
        except (OSError, trio.ClosedResourceError):
            self.close()
        finally:
            self._writing = False

    def _relieve(self) -> None:
        if self._relieved is not None:
            self._relieved.set()
            self._relieved = None

    def close(self) -> None:
        """Close the connection and tell the owner; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        trio.lowlevel.notify_closing(self._sock)
        self._sock.close()
        self._outbox.clear()
        self._outbox_bytes = 0
        self._relieve()
        self._calls.close()
        self._on_close(self)

    def reply(self, request: Request[Any], reply: Reply | SharedReply) -> None:
        """Answer a request that was held."""
        header = request.header
        if isinstance(reply, Reply):
            self.answer(header, request.serialize_type, reply)
        elif not header.flag & FLAG_ONEWAY:
            try:
                head = reply.head(header.opaque, request.serialize_type)
            except WireError:
                self.answer(header, request.serialize_type, reply.reply)
            else:
                self.write(head, *reply.reply.body)

    def answer(self, request: Header, serialize_type: int, reply: Reply) -> None:
        """Answer a request in its own serialisation; nothing is written for a one-way request.

        An answer that no frame can hold is replaced by one that says so.
        """
        if request.flag & FLAG_ONEWAY or self._closed:
            return
        try:
            self._write_answer(request, serialize_type, reply)
        except WireError as error:
            log.warning("answer to request %d from %s: %s", request.code, self.remote_text, error)
            ext: dict[str, str] | None = None if reply.fields is None and reply.ext is None else {}
            refusal = Reply(code=response_code(error), remark=str(error), ext=ext)
            self._write_answer(request, serialize_type, refusal)

    def _write_answer(self, request: Header, serialize_type: int, reply: Reply) -> None:
        header = reply.header(request.opaque)
        body = reply.body
        if body:
            self.write(encode_frame_head(header, sum(map(len, body)), serialize_type), *body)
        else:
            self.write(encode_frame(header, b"", serialize_type))

    def push(self, code: int, ext: dict[str, str], body: bytes = b"") -> None:
        """Send a one-way request of the server's own, with an opaque of its own, to a client that reads."""
        if self.congested:
            log.warning("request %d is not sent to %s, which does not read", code, self.remote_text)
        else:
            self._ask(code, ext, body, flag=FLAG_ONEWAY)

    def call(
        self, code: int, ext: dict[str, str], body: bytes, *, seconds: float, done: Callable[[Answer | None], None]
    ) -> None:
        """Send a request of the server's own; `done` gets the client's answer, or None if there is none."""
        if self.congested or self._calls.full:
            done(None)
            return
        opaque, size = self._ask(code, ext, body, flag=0)
        if self._closed:
            done(None)
        else:
            self._calls.add(opaque, size=size, seconds=seconds, done=done)

    def answered(self, header: Header, body: Buffer) -> None:
        """Take the client's answer to a call; others are dropped. `body` is copied."""
        answer = Answer(code=header.code, remark=header.remark, ext=dict(header.ext or {}), body=bytes(body))
        self._calls.answered(header.opaque, answer)

    def _ask(self, code: int, ext: dict[str, str], body: bytes, *, flag: int) -> tuple[int, int]:
        """Send a request; give its opaque and its bytes."""
        opaque = next(_opaques) & _INT_MAX
        header = Header(code=code, opaque=opaque, flag=flag, version=VERSION_4_9_7, ext=ext)
        frame = encode_frame(header, body, _JSON)
        self.write(frame)
        self.flush()
        return opaque, len(frame)
