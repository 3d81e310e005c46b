"""Connections to a whole server: name server and broker in this process, with separate sockets and a separate store.

An input is what one connection sends. Frames are made of its parts, so that a change of a byte does not spoil their
lengths: `FRAME` before each, `BODY` between its header and its body; a header that begins with 1 is a binary one. What
stands before the first `FRAME` is sent as it is. The first byte chooses the receiver (bit 0), whether the frames come
in one piece (bit 1), and whether time passes before the connection is closed (bit 2).
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from rocketwire.server import serving as composition
from rocketwire.server.broker.broker import Broker
from rocketwire.server.net.listener import Listener
from rocketwire.wire.facts.codes import PullSysFlag, RequestCode
from rocketwire.wire.frame import FRAME_PREFIX, encode_frame
from rocketwire.wire.header import Header
from tests.fuzz.loop import running
from tests.fuzz.part import Check, Part
from tests.kernel.fuzz.seeds import WORDS
from tests.server import harness
from tests.server.harness import Client, Server, consumer, heartbeat, pull_ext, send_ext, serving, settle, subscription
from tests.wire import golden

FRAME: Final = b"\xff\xfd"
BODY: Final = b"\xff\xfe"

_INPUTS: Final = 200  # that one server takes: its store grows, and some of them change its configuration
_TO_NAME_SERVER, _IN_PIECES, _WAITS = 1, 2, 4
_SECONDS: Final = 20.0
_PATIENCE: Final = 3600.0  # real seconds: the fuzzer ends an input that hangs


def sent(data: bytes) -> bytes:
    """The bytes of an input's frames."""
    first, *parts = data.split(FRAME)
    return first + b"".join(map(framed, parts))


def framed(part: bytes) -> bytes:
    """A frame of a header and a body."""
    header, _, body = part.partition(BODY)
    serialize_type = int(header[:1] == b"\1")
    header = header[serialize_type:]
    return FRAME_PREFIX.pack(4 + len(header) + len(body), serialize_type << 24 | len(header)) + header + body


class Errors(logging.Handler):
    """Keeps what the server logs as an error: a bug."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(logging.Formatter().format(record))


class _Parts:
    """What the composition root makes, to check what remains in it."""

    def __init__(self) -> None:
        self.broker: Any = None
        self.listeners: list[Any] = []

    def keep_broker(self, *args: Any, **options: Any) -> Any:
        self.broker = Broker(*args, **options)
        return self.broker

    def keep_listener(self, *args: Any, **options: Any) -> Any:
        self.listeners.append(Listener(*args, **options))
        return self.listeners[-1]


class _Serving:
    """A server that is replaced by a new one after some inputs."""

    def __init__(self, folder: Path, errors: Errors) -> None:
        self._folder = folder
        self._errors = errors
        self._stack = AsyncExitStack()
        self._parts = _Parts()
        self._server: Server
        self._left = 0
        self._servers = 0

    async def check(self, data: bytes) -> None:
        """Serve an input; the server lives, and nothing of the connection remains."""
        if not self._left:
            await self._restart()
        self._left -= 1
        self._errors.found.clear()
        options = data[0] if data else 0
        client = self._server.name_server() if options & _TO_NAME_SERVER else self._server.broker()
        try:
            await self._send(client, data[1:], in_pieces=bool(options & _IN_PIECES))
            if options & _WAITS:
                await self._server.pass_time(_SECONDS)
        finally:
            client.close()
        await settle()
        assert not self._errors.found, "\n".join(self._errors.found)
        self._assert_nothing_remains()
        await self._assert_alive()

    async def _send(self, client: Client, data: bytes, *, in_pieces: bool) -> None:
        whole = sent(data)
        pieces = [whole[at : at + 100] for at in range(0, len(whole), 100)] if in_pieces else [whole]
        for piece in pieces:
            try:
                await client.write(piece)
            except (BrokenPipeError, ConnectionResetError):
                return
            await client.arrived()

    def _assert_nothing_remains(self) -> None:
        assert [listener.sessions for listener in self._parts.listeners if listener.sessions] == []
        broker = self._parts.broker
        assert not broker.clients._joined
        assert not broker.clients._consumers
        assert not broker.clients._producers
        assert not broker.clients._producer_peers
        assert broker.pulls.long_poll.held == 0

    async def _assert_alive(self) -> None:
        for client in (self._server.broker(), self._server.name_server()):
            await client.write(client.frame(RequestCode.GET_ALL_TOPIC_CONFIG, opaque=7))
            assert [answer.header.opaque for answer in await client.arrived()] == [7]
            client.close()
        await settle()

    async def _restart(self) -> None:
        await self.stop()
        self._left = _INPUTS
        self._servers += 1
        self._parts = _Parts()
        with (
            patch.object(composition, "Broker", self._parts.keep_broker),
            patch.object(composition, "Listener", self._parts.keep_listener),
        ):
            folder = self._folder / str(self._servers)
            self._server = await self._stack.enter_async_context(serving(folder))
        client = self._server.broker()
        await client.create_topic("T", 2)
        await client.send("T", b"body", tags="TagA", keys="k", unique_key="C000020201C14E0E2F2A68F2FE7800DC")
        client.close()
        await settle()

    async def stop(self) -> None:
        """Stop the server that runs, if any."""
        await self._stack.aclose()


@contextmanager
def kept_errors() -> Iterator[Errors]:
    """Keeps what servers log as errors; what hangs is for the fuzzer to end."""
    errors = Errors()
    logger = logging.getLogger("rocketwire")
    with ExitStack() as stack:
        stack.enter_context(patch.object(harness, "REAL_SECONDS", _PATIENCE))
        stack.enter_context(patch.object(logger, "propagate", new=False))
        logger.addHandler(errors)
        stack.callback(logger.removeHandler, errors)
        yield errors


@contextmanager
def opened() -> Iterator[Check]:
    """With a server."""
    with ExitStack() as stack:
        errors = stack.enter_context(kept_errors())
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        loop = stack.enter_context(running())
        serving_ = _Serving(Path(folder), errors)
        try:
            yield lambda data: loop.run(serving_.check, data)
        finally:
            loop.run(serving_.stop)


def seeds() -> Iterator[bytes]:
    """One request of each code and serialisation out of the captures, and some of the tests' own in one go."""
    found: dict[tuple[int, int], bytes] = {}
    for capture in golden.captures():
        for frame in golden.frames(capture):
            if frame.row["kind"] == "request" and len(frame.data) < PART.longest // 2:
                found.setdefault((frame.row["code"], frame.data[4]), _part(frame.data))
    for part in found.values():
        yield b"\0" + part
        yield b"\1" + part
    client = "10.0.0.1@1"
    requests = [
        (RequestCode.SEND_MESSAGE_V2, send_ext("T", tags="TagA", keys="k"), b"body"),
        (RequestCode.PULL_MESSAGE, pull_ext("T"), b""),
        (RequestCode.HEART_BEAT, {}, heartbeat(client, consumer("G", subscription("T")), producers=["P"])),
        (RequestCode.PULL_MESSAGE, pull_ext("T", 100, sys_flag=PullSysFlag.SUSPEND | PullSysFlag.SUBSCRIPTION), b""),
    ]
    parts = [_part(encode_frame(Header(code=code, opaque=9, ext=ext), body)) for code, ext, body in requests]
    for options in range(8):
        yield bytes([options]) + b"".join(parts)
    yield b"\0\x16\x03\x01\0\5hello"
    yield b"\0GET / HTTP/1.1\r\n\r\n"


def _part(data: bytes) -> bytes:
    """A frame as it stands in an input."""
    word = int.from_bytes(data[4:8])
    end = 8 + (word & 0xFFFFFF)
    return FRAME + b"\1" * (word >> 24) + data[8:end] + BODY + data[end:]


PART = Part(
    opened=opened,
    seeds=seeds,
    words=[
        *WORDS["sends"],
        *(f'"code":{int(code)},' for code in RequestCode),
        FRAME,
        BODY,
        FRAME + b"\1",
        '"T"',
        '"G"',
    ],
    longest=4000,
)
