"""One connection: hands frames to the dispatcher, gathers the answers, writes them.

What reads the socket is the session's driver: the kernel's hub, or a task (`server.reader`). Answers gather in an
outbox during a read and leave in one system call at its end; what the socket does not take at once is written by a
task that lives only while something is left. While more than `HIGH_WATER` bytes of answers wait, no further request
of this connection is read or handled, so a client that never reads its answers costs a bounded amount of memory and
nobody else's time.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from itertools import count
from typing import Any, Final, Protocol

import trio

from rocketwire.server.addresses import Address
from rocketwire.server.client_calls import ClientCalls
from rocketwire.server.errors import response_code
from rocketwire.server.outbox import Outbox
from rocketwire.server.request import Answer, Reply, Request, SharedReply
from rocketwire.wire.codes import FLAG_ONEWAY, VERSION_4_9_7
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.errors import FrameError, WireError
from rocketwire.wire.frame import Buffer, encode_frame, encode_frame_head
from rocketwire.wire.header import Header
from rocketwire.wire.message import encode_host

log = logging.getLogger(__name__)

HIGH_WATER: Final = 4 * 1024 * 1024
_NOTHING: Final = -1
_JSON: Final = 0
_INT_MAX: Final = 2**31 - 1

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


class Driver(Protocol):
    """Reads a session's socket and has the session serve what comes.

    Attributes:
        last_activity: When bytes last came or went, in seconds of the event loop.
        frame_started: When the first byte came of a frame that is not whole yet; infinite if there is none.
        writing: Whether a task writes what the socket did not take; the session says so.
    """

    last_activity: float
    frame_started: float
    writing: bool

    def resume(self) -> None:
        """Go on reading: the session is congested no more."""

    def close(self) -> None:
        """Read nothing more. Comes before the socket is closed; further calls do nothing."""


class Session:
    """A client's connection to one listener.

    Attributes:
        driver: What reads it; set right after the session is made.
        remote_text: The client's ``host:port``.
        born_host: The client's address as records hold it.
    """

    __slots__ = (
        "_calls",
        "_closed",
        "_dispatcher",
        "_ends",
        "_most_waiting",
        "_nursery",
        "_on_close",
        "_outbox",
        "_sock",
        "born_host",
        "driver",
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
        self._outbox = Outbox(sock)
        self._most_waiting = HIGH_WATER
        self._closed = False
        self._ends = False
        self.driver: Driver
        host, port = remote
        self.remote_text = str(Address(host=host, port=port))
        self.born_host = encode_host(host, port)

    @property
    def congested(self) -> bool:
        """Whether more answers wait than a client that reads would let wait."""
        return self._outbox.size > HIGH_WATER

    @property
    def pauses(self) -> bool:
        """Whether the rest of this read's requests is to wait: the client does not read, or it is others' turn."""
        return self._outbox.size > self._most_waiting

    def let_others(self) -> None:
        """Handle no further request of this read before others had their turn: what this one asked for was long."""
        self._most_waiting = _NOTHING

    @property
    def lets_others(self) -> bool:
        """Whether others are to have their turn before more of this read is served."""
        return self._most_waiting == _NOTHING

    @property
    def unsent(self) -> int:
        """Bytes of answers that wait."""
        return self._outbox.size

    def serve(self, frames: list[RawFrame]) -> int:
        """Handle frames of one read in order; give how many were handled before the session had to pause.

        None is said to be handled where a header cannot be read: nothing behind it will be.
        """
        self._most_waiting = HIGH_WATER
        try:
            return self._dispatcher.serve(self, frames)
        except FrameError as bad_header:
            self.end(bad_header)
            return 0

    def misread(self, start: Buffer) -> None:
        """End the connection, whose stream goes on with these eight bytes: no frame begins so."""
        _, error = FrameReader().receive(memoryview(start))
        self.end(error)

    def end(self, error: FrameError | None) -> None:
        """Read no further because of this error, and close once what was asked before is answered."""
        log.warning("closing %s: %s", self.remote_text, error)
        self._ends = True
        self.driver.close()
        self.flush()
        if not self._outbox.size:
            self.close()

    def failed(self, error: Exception) -> None:
        """Close the connection, for there is a bug in serving it; it must not end the others."""
        log.error("closing %s", self.remote_text, exc_info=error)
        self.close()

    def write(self, *chunks: Buffer) -> None:
        """Put bytes in the outbox; `flush` sends them. Nothing happens once the connection is closed."""
        if self._closed:
            return
        self._outbox.put(chunks)

    def flush(self) -> None:
        """Send what waits; the rest follows as the socket takes it."""
        if self.driver.writing or not self._outbox.size:
            return
        try:
            self._outbox.send()
        except OSError:
            self.close()
            return
        if self._outbox.size and not self._closed:
            self.driver.writing = True
            self._nursery.start_soon(self._write_rest)

    async def _write_rest(self) -> None:
        driver = self.driver
        try:
            while self._outbox.size and not self._closed:
                await trio.lowlevel.wait_writable(self._sock)
                self._outbox.send()
                driver.last_activity = trio.current_time()
                if not self.congested:
                    driver.resume()
            if self._ends:
                self.close()
        except (OSError, trio.ClosedResourceError):
            self.close()
        finally:
            driver.writing = False

    def close(self) -> None:
        """Close the connection and tell the owner; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        self.driver.close()
        trio.lowlevel.notify_closing(self._sock)
        self._sock.close()
        self._outbox.clear()
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
