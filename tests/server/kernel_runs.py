"""A broker without sockets, served by the general path or with the kernel's sends before it, to compare both."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from rocketwire.server.broker.broker import Broker
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.registry import broker_families
from rocketwire.wire.addresses import Address
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, VERSION_4_9_7
from rocketwire.wire.frame import Frame, encode_frame
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.hosts import encode_host
from tests.server.harness import Clock, run_inline, small_config

PEER = ("10.1.2.3", 4567)


@dataclass(eq=False)
class Wire:
    """The server's end of a connection: keeps what is written to it."""

    remote_text: str = "10.1.2.3:4567"
    born_host: bytes = encode_host(*PEER)
    congested: bool = False
    pauses: bool = False
    data: bytearray = field(default_factory=bytearray)

    def write(self, *chunks: bytes) -> None:
        for chunk in chunks:
            self.data += chunk

    def flush(self) -> None:
        pass

    def answer(self, request: Header, serialize_type: int, reply: Reply) -> None:
        if request.flag & FLAG_ONEWAY:
            return
        ext = encode_ext(reply.fields) if reply.fields is not None else None
        if reply.ext is not None:
            ext = {**(ext or {}), **reply.ext}
        header = Header(
            code=reply.code,
            opaque=request.opaque,
            flag=FLAG_RESPONSE,
            version=VERSION_4_9_7,
            remark=reply.remark,
            ext=ext,
        )
        self.write(encode_frame(header, b"".join(reply.body), serialize_type))

    def reply(self, request: Any, reply: Any) -> None:
        self.answer(request.header, request.serialize_type, reply)

    def who(self, code: int = 0) -> dict[str, object]:
        return {"code": code}

    def take(self) -> dict[int, Frame]:
        """What was written since the last call, by opaque."""
        frames, error = FrameReader().receive(memoryview(bytes(self.data)))
        assert error is None
        self.data.clear()
        decoded = [Frame(decode_header(f.header, f.serialize_type), bytes(f.body), f.serialize_type) for f in frames]
        found = {frame.header.opaque: frame for frame in decoded}
        assert len(found) == len(decoded)
        return found


class Run:
    """A broker and one connection to it.

    Attributes:
        kernel: Whether the kernel's sends come first.
        by_kernel: How many bytes it served.
    """

    def __init__(self, store: Path, clock: Clock, *, kernel: bool, **changes: Any) -> None:
        self.clock = clock
        self.wire = Wire()
        self.by_kernel = 0
        self.metrics = Metrics()
        self.kernel = kernel
        self.broker = Broker(
            small_config(store, **changes),
            advertised=Address(host="127.0.0.1", port=10911),
            routes=RouteTable(),
            metrics=self.metrics,
            clock=clock,
            choose=lambda bound: bound - 1,
            run_sync=run_inline,
            run_flush=run_inline,
        )
        self.dispatcher = FrameDispatcher(
            broker_families(self.broker), metrics=self.metrics, storing=self.broker.sends.storing
        )

    def read(self, data: bytes) -> dict[int, Frame]:
        """Serve the frames of one read; the answers by opaque."""
        sends = self.broker.sends.kernel
        if not self.kernel:
            self._serve(data)
            return self.wire.take()
        assert sends is not None
        sends.before_round(self.clock(), guarded=self.dispatcher.guarded)
        while data:
            now = trio.current_time()
            answers, taken = sends.native.serve(self.wire, self.wire.born_host, self.clock(), data, now)
            self.wire.write(answers)
            self.by_kernel += taken
            data = data[taken:]
            size = 4 + int.from_bytes(data[:4])
            self._serve(data[:size])
            data = data[size:]
        sends.after_round()
        return self.wire.take()

    def _serve(self, data: bytes) -> None:
        frames, error = FrameReader().receive(memoryview(data))
        assert error is None
        if frames:
            whole: list[RawFrame] = list(frames)
            wire: Any = self.wire
            assert self.dispatcher.serve(wire, whole) == len(whole)


@contextlib.contextmanager
def running(store: Path, clock: Clock | None = None, *, kernel: bool, **changes: Any) -> Iterator[Run]:
    """A run; the store is closed at the end, all keys indexed."""
    run = Run(store, clock or Clock(), kernel=kernel, **changes)
    try:
        yield run
    finally:
        while run.broker.base.store.dispatch_index():
            pass
        run.broker.base.store.close()


def files_of(store: Path) -> dict[str, bytes]:
    """The content of the files of the log, the queues and the index."""
    folders = ("commitlog", "consumequeue", "index")
    return {
        str(path.relative_to(store)): path.read_bytes()
        for folder in folders
        for path in sorted((store / folder).rglob("*"))
        if path.is_file()
    }
