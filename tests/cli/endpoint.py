"""The servers of the commands in tests: a real one in a thread of this process, and one with given answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio

from rocketwire.cli import main
from rocketwire.server.announcing import ServerAddresses
from rocketwire.server.core.clocks.clock import system_clock
from rocketwire.server.serving import serve
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, QueueData, TopicRouteData
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header, decode_header
from tests.cli.store.support import Ran
from tests.server.harness import small_config

SECONDS = 120.0


class Command:
    """`rocketwire` in this process, with one name server."""

    def __init__(self, captured: pytest.CaptureFixture[str], name_server: str) -> None:
        self._captured = captured
        self.name_server = name_server

    def __call__(self, *arguments: object) -> Ran:
        code = main([*map(str, arguments), "--namesrv", self.name_server])
        out, err = self._captured.readouterr()
        return Ran(code, out, err)


class Addresses(NamedTuple):
    name_server: Address
    broker: Address


@contextlib.contextmanager
def real_endpoint(store: Path, **changes: Any) -> Iterator[Addresses]:
    """A name server and a broker on free ports; both are stopped at the end. `changes` are of the configuration."""
    ready = threading.Event()
    state: dict[str, Any] = {}

    def listens(server: ServerAddresses) -> None:
        assert server.name_server is not None
        assert server.broker is not None
        state["addresses"] = Addresses(server.name_server, server.broker)
        ready.set()

    async def run() -> None:
        with trio.CancelScope() as scope:
            state["stop"] = (trio.lowlevel.current_trio_token(), scope)
            await serve(
                small_config(store, **changes),
                clock=system_clock,
                choose=lambda bound: bound - 1,
                run_sync=trio.to_thread.run_sync,
                ready=listens,
            )

    thread = threading.Thread(target=trio.run, args=(run,), daemon=True)
    thread.start()
    assert ready.wait(SECONDS)
    try:
        yield state["addresses"]
    finally:
        token, scope = state["stop"]
        token.run_sync_soon(scope.cancel)
        thread.join(SECONDS)
        assert not thread.is_alive()


class FakeAnswer(NamedTuple):
    """What a fake server answers."""

    code: int = 0
    ext: dict[str, str] | None = None
    body: bytes = b""
    remark: str | None = None


Answers = dict[int, Callable[[dict[str, str]], FakeAnswer | bytes | None]]
"""By request code; bytes are sent as they are, None is no answer at all. Other codes are answered with 3."""


class FakeServer:
    """Name server and broker in one, on one port; `route` is that of the topic T."""

    def __init__(self, answers: Answers) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.answers: Answers = {
            RequestCode.GET_ROUTEINFO_BY_TOPIC: lambda ext: self.route(ext["topic"]),
            RequestCode.GET_BROKER_CLUSTER_INFO: lambda _: FakeAnswer(body=encode_body(self.cluster())),
            **answers,
        }
        self.requests: list[tuple[int, dict[str, str]]] = []
        self._open: list[socket.socket] = [self._listener]
        self._lock = threading.Lock()
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with self._lock:
            self._closed = True
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    @property
    def connections(self) -> int:
        """How many were made."""
        return len(self._open) - 1

    def hang_up(self) -> None:
        """End all connections, and take new ones."""
        for each in self._open[1:]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cluster(self) -> ClusterInfo:
        return ClusterInfo(broker_addr_table={"b": self._broker()})

    def route(self, topic: str) -> FakeAnswer:
        if topic != "T":
            return FakeAnswer(code=17, remark="No topic route info")
        queues = (QueueData(broker_name="b", read_queue_nums=2, write_queue_nums=2, perm=6),)
        return FakeAnswer(body=encode_body(TopicRouteData(broker_datas=(self._broker(),), queue_datas=queues)))

    def _broker(self) -> BrokerData:
        return BrokerData(cluster="c", broker_name="b", broker_addrs={0: self.address})

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    if self._closed:  # meanwhile
                        connection.close()
                        return
                    self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        reader = FrameReader()
        with contextlib.suppress(OSError):
            while data := connection.recv(1 << 16):
                frames, _ = reader.receive(memoryview(data))
                for frame in frames:
                    header = decode_header(frame.header, frame.serialize_type)
                    self.requests.append((header.code, header.ext or {}))
                    requested = self.answers.get(header.code)
                    answer = FakeAnswer(3, remark="not supported") if requested is None else requested(header.ext or {})
                    if isinstance(answer, bytes):
                        connection.sendall(answer)
                    elif answer is not None:
                        connection.sendall(self._frame(header.opaque, answer))

    @staticmethod
    def _frame(opaque: int, answer: FakeAnswer) -> bytes:
        header = Header(
            code=answer.code, opaque=opaque, flag=FLAG_RESPONSE, remark=answer.remark, ext=answer.ext, version=407
        )
        return encode_frame(header, answer.body)


@contextlib.contextmanager
def fake_server(answers: Answers | None = None) -> Iterator[FakeServer]:
    server = FakeServer(answers or {})
    try:
        yield server
    finally:
        server.close()
