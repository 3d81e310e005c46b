"""Shared by the server's tests: a server in this process on free ports, and a client that sends and receives frames.

The time stands still: the clock of records is `Clock`, that of waiting is trio's MockClock, moved with
`Server.pass_time`. Sockets are real, so the mock clock must not jump automatically; `settle` runs every task that is
ready and then returns. A server that does not come to rest within `REAL_SECONDS` of real time is cancelled.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import random
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count, cycle
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import pytest
import trio
import trio.testing

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.announcing import ServerAddresses
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.configuration import KEYS, ServerConfig
from rocketwire.server.core.append import Append
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import LongTaskScheduler, PausedTask
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import OnClientAnswer, Reply
from rocketwire.server.core.threads import RunSync
from rocketwire.server.dispatch.group import AppendGroup
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.members.link import SupervisorLink
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.tls.contexts import TlsContexts
from rocketwire.server.net.tls.gate import TlsGate
from rocketwire.server.net.tls.settings import TlsSettings
from rocketwire.server.serving import serve
from rocketwire.store.disk.files import FileSystem
from rocketwire.wire.addresses import Address
from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import (
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
    SubscriptionData,
)
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_ONEWAY, PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.frame import Frame, encode_frame
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.admin import CreateTopicRequestHeader
from rocketwire.wire.headers.pull import PullMessageRequestHeader
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord, decode_record

T = TypeVar("T")

NOW = 1_700_000_000_000
REAL_SECONDS = 120.0
JSON = 0
BINARY = 1


class Clock:
    """A wall clock that the test moves."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def mock_clock() -> trio.testing.MockClock:
    """The clock of the running test: see conftest."""
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, trio.testing.MockClock)
    return clock


def run(function: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
    """`trio.run` on a mock clock."""
    options["clock"] = options.get("clock") or trio.testing.MockClock()
    return trio.run(function, *args, **options)


async def run_inline(sync_fn: Callable[..., Any], *args: Any) -> Any:
    """A `RunSync` for the mock clock, which would advance while a thread works: the call runs in the event loop."""
    await trio.lowlevel.checkpoint()
    return sync_fn(*args)


def done(work: Operation[T]) -> T:
    """The result of an operation that never waits."""
    found = LongTaskScheduler().start(work)
    assert not isinstance(found, PausedTask)
    return found


def instances(monkeypatch: pytest.MonkeyPatch, cls: type[T]) -> list[T]:
    """All objects of a class that are made from now on, in their order."""
    made: list[T] = []
    real: Any = cls.__init__

    def noting(self: T, *args: Any, **options: Any) -> None:
        real(self, *args, **options)
        made.append(self)

    monkeypatch.setattr(cls, "__init__", noting)
    return made


class WokenForNothing(socket.socket):
    """A socket that has nothing to read when it is first reported readable.

    Attributes:
        woken: How often it was read.
    """

    woken = 0

    def recv_into(self, *args: Any) -> int:
        self.woken += 1
        if self.woken == 1:
            raise BlockingIOError
        return super().recv_into(*args)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The logged warnings and errors."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def pass_time(seconds: float) -> None:
    """Let the event loop's time pass, and every task run until all of them wait."""
    await settle()
    mock_clock().jump(seconds)
    await settle()


async def settle() -> None:
    """Let every task run until all of them wait."""
    await trio.testing.wait_all_tasks_blocked()


def tls_gate(in_flight: InFlight) -> TlsGate:
    """The TLS context for clients in test mode."""
    return TlsGate(TlsContexts(TlsSettings(), clock=Clock(), run_sync=run_inline), in_flight)


def small_config(store: Path, **changes: Any) -> ServerConfig:
    """A configuration for free ports and small files, with some changes: see `changed`."""
    config = changed(
        ServerConfig(name_server=Address(host="127.0.0.1", port=0)),
        listen_port=0,
        grpc_listen="none",
        fast_remoting=False,
        store_path_root_dir=str(store),
        mapped_file_size_commit_log=16 << 20,
        mapped_file_size_consume_queue=20_000,
        max_hash_slot_num=1000,
        max_index_num=4000,
        broker_cluster_name="C",
        # The use of the machine's disk does not concern a test.
        disk_space_warning_level_ratio=100,
        disk_space_clean_forcibly_ratio=100,
    )
    return changed(config, **changes)


def changed(config: ServerConfig, **changes: Any) -> ServerConfig:
    """A configuration with some keys changed, named as the fields of their groups, and some other fields."""
    values = {key: changes.pop(key.attribute) for key in KEYS if key.attribute in changes}
    return replace(config.having(values), **changes)


def stored_reply(storing: MessageWriter, append: Append) -> Reply:
    """Store what one request appends; its answer, as dispatch makes it."""
    appended, refusals = storing.append(append.drafts)
    for error in refusals.values():
        return append.answer.refused(error)
    if append.on_stored is not None:
        append.on_stored()
    return append.answer.reply(appended, ResponseCode.SUCCESS)


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make servers that start from now on append and answer each request alone."""
    add = AppendGroup.add

    def alone(self: AppendGroup, session: Any, *args: Any) -> bool:
        added = add(self, session, *args)
        self.finish(session)
        return added

    monkeypatch.setattr(AppendGroup, "add", alone)


_PORTS: Final = cycle(random.SystemRandom().sample(range(10_240, 20_000), 9760))
"""In a random order; the catalogue's endpoints use those from 20,000 on."""


def free_port(host: str = "127.0.0.1") -> int:
    """A port of that address on which nothing listens.

    It lies below the range from which the kernel chooses ports for connections and for binds to port 0, and is drawn
    at random: no other process is likely to take it before the caller binds it.
    """
    for port in _PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return port
    raise AssertionError("no free port")


def free_port_with_vip() -> int:
    """Such a port two above one that is free as well."""
    while True:
        port = free_port()
        with socket.socket() as vip, contextlib.suppress(OSError):
            vip.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            vip.bind(("127.0.0.1", port - 2))
            return port


def account(**changes: Any) -> InFlight:
    """An account of bytes, with some limits changed."""
    return InFlight(Limits(LiveGroup(LimitKeys(**changes)), Metrics()))


class Client:
    """A connection that sends and receives frames."""

    def __init__(self, address: Address, *, receive_buffer: int | None = None) -> None:
        infos = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        self.sock = socket.socket(infos[0][0], socket.SOCK_STREAM)
        if receive_buffer is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.connect(infos[0][4])
        self.sock.setblocking(False)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pushes: list[Frame] = []
        self._frames: deque[Frame] = deque()
        self._reader = FrameReader()
        self._opaques = count(1)
        self._ended = False

    def close(self) -> None:
        """Close the connection."""
        self.sock.close()

    @property
    def local(self) -> str:
        """``host:port`` of this end, as the server shows it."""
        name = self.sock.getsockname()
        return str(Address(host=name[0], port=name[1]))

    async def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self.sock.send(rest) :]
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self.sock)

    def frame(
        self,
        code: int,
        ext: dict[str, str] | None = None,
        body: bytes = b"",
        *,
        serialize_type: int = JSON,
        flag: int = 0,
        version: int = 407,
        opaque: int | None = None,
    ) -> bytes:
        """A request with the next opaque."""
        opaque = next(self._opaques) if opaque is None else opaque
        header = Header(code=code, opaque=opaque, flag=flag, version=version, ext=ext)
        return encode_frame(header, body, serialize_type)

    async def request(self, code: int, ext: dict[str, str] | None = None, body: bytes = b"", **options: Any) -> Frame:
        """Send a request and wait for its answer; one-way requests of the server are collected in `pushes`."""
        opaque = next(self._opaques)
        await self.write(self.frame(code, ext, body, opaque=opaque, **options))
        answer = await self.receive()
        assert answer.header.opaque == opaque
        return answer

    async def send_oneway(
        self, code: int, ext: dict[str, str] | None = None, body: bytes = b"", **options: Any
    ) -> None:
        """Send a one-way request."""
        await self.write(self.frame(code, ext, body, flag=FLAG_ONEWAY, **options))

    async def receive(self) -> Frame:
        """The next answer."""
        while True:
            self._sort_pushes()
            if self._frames:
                return self._frames.popleft()
            await trio.lowlevel.wait_readable(self.sock)
            self._read()
            assert not self._ended, "the server closed the connection"

    async def arrived(self) -> list[Frame]:
        """All answers that have come when the server is at rest."""
        await settle()
        while self._read():
            await settle()
        self._sort_pushes()
        found = list(self._frames)
        self._frames.clear()
        return found

    async def ended(self) -> bool:
        """Wait until the server has closed the connection: TCP delivers earlier bytes when it likes."""
        while not self._ended:
            if not self._read() and not self._ended:
                await trio.lowlevel.wait_readable(self.sock)
        await settle()
        return True

    async def is_open(self) -> bool:
        """Whether the connection is open when the server is at rest."""
        await settle()
        while self._read():
            await settle()
        return not self._ended

    def _sort_pushes(self) -> None:
        self.pushes += [frame for frame in self._frames if not frame.header.is_response]
        self._frames = deque(frame for frame in self._frames if frame.header.is_response)

    def _read(self) -> bool:
        """Read once; false when nothing waits or the connection is over."""
        try:
            data = self._received()
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self._ended = True
            return False
        frames, error = self._reader.receive(memoryview(data))
        assert error is None
        self._frames += [
            Frame(decode_header(f.header, f.serialize_type), bytes(f.body), f.serialize_type) for f in frames
        ]
        return True

    def _received(self) -> bytes:
        return self.sock.recv(1 << 20)

    # --- requests that many tests make ---

    async def create_topic(self, topic: str, queues: int = 1, *, perm: int = 6, **changes: Any) -> None:
        """Create a topic."""
        answer = await self.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext(topic, queues, perm=perm, **changes))
        assert answer.header.code == 0, answer.header.remark

    async def send(self, topic: str, body: bytes = b"body", **changes: Any) -> Frame:
        """Send one message by SEND_MESSAGE_V2; `tags`, `keys` and the header's fields may be given."""
        serialize_type = changes.pop("serialize_type", JSON)
        return await self.request(
            RequestCode.SEND_MESSAGE_V2, send_ext(topic, **changes), body, serialize_type=serialize_type
        )

    async def pull(self, topic: str, offset: int = 0, **changes: Any) -> Frame:
        """Pull without waiting, with a subscription in the request."""
        return await self.request(RequestCode.PULL_MESSAGE, pull_ext(topic, offset, **changes))

    async def hold(self, topic: str, offset: int = 0, *, seconds: float = 15, **changes: Any) -> None:
        """Send a pull that may be held, and do not wait for its answer."""
        sys_flag = changes.pop("sys_flag", PullSysFlag.SUSPEND | PullSysFlag.SUBSCRIPTION)
        serialize_type = changes.pop("serialize_type", JSON)
        ext = pull_ext(topic, offset, sys_flag=sys_flag, suspend_timeout_millis=int(seconds * 1000), **changes)
        await self.write(self.frame(RequestCode.PULL_MESSAGE, ext, serialize_type=serialize_type))
        await settle()

    async def heartbeat(self, client_id: str, *consumers: ConsumerData, producers: Sequence[str] = ()) -> Frame:
        """Send a heartbeat."""
        return await self.request(RequestCode.HEART_BEAT, body=heartbeat(client_id, *consumers, producers=producers))

    async def commit(self, offset: int, topic: str = "T", *, group: str = "G", queue_id: int = 0) -> None:
        """Commit an offset of a group."""
        ext = {"consumerGroup": group, "topic": topic, "queueId": str(queue_id), "commitOffset": str(offset)}
        assert (await self.request(RequestCode.UPDATE_CONSUMER_OFFSET, ext)).header.code == 0

    async def committed(self, topic: str = "T", *, group: str = "G", queue_id: int = 0) -> int | None:
        """The offset that a group has committed; None: none."""
        ext = {"consumerGroup": group, "topic": topic, "queueId": str(queue_id), "setZeroIfNotFound": "false"}
        found = (await self.request(RequestCode.QUERY_CONSUMER_OFFSET, ext)).header.ext or {}
        return int(found["offset"]) if "offset" in found else None

    async def bodies(self, topic: str = "T", offset: int = 0, **changes: Any) -> list[bytes]:
        """The bodies of the messages that a pull finds."""
        return bodies(await self.pull(topic, offset, **changes))

    async def set_config(self, **values: object) -> Frame:
        """Change the broker's configuration (25); names are Apache's."""
        text = "".join(f"{name}={value}\n" for name, value in values.items())
        return await self.request(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode())


def topic_ext(topic: str, queues: int = 1, *, perm: int = 6, **changes: Any) -> dict[str, str]:
    """The header of UPDATE_AND_CREATE_TOPIC."""
    values: dict[str, Any] = {
        "topic": topic,
        "default_topic": "TBW102",
        "read_queue_nums": queues,
        "write_queue_nums": queues,
        "perm": perm,
        "topic_filter_type": "SINGLE_TAG",
        "order": False,
        "topic_sys_flag": 0,
        **changes,
    }
    return encode_ext(CreateTopicRequestHeader(**values))


def properties_text(**values: str) -> str:
    """Message properties as a client writes them."""
    return "\x02".join(f"{name}\x01{value}" for name, value in values.items())


BROKER_PROPERTIES: Final = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "CLUSTER": "C"}
"""The properties that the broker of `serving` adds to each message that is sent."""
BROKER_TEXT: Final = properties_text(**BROKER_PROPERTIES)


def send_ext(
    topic: str,
    *,
    short: bool = True,
    tags: str | None = None,
    keys: str | None = None,
    properties: str | None = None,
    **changes: Any,
) -> dict[str, str]:
    """The header of a send as the official client writes it."""
    if properties is None:
        named = {"KEYS": keys, "UNIQ_KEY": changes.pop("unique_key", None), "WAIT": "true", "TAGS": tags}
        properties = properties_text(**{name: value for name, value in named.items() if value is not None})
    values: dict[str, Any] = {
        "producer_group": "producers",
        "topic": topic,
        "default_topic": "TBW102",
        "default_topic_queue_nums": 4,
        "queue_id": 0,
        "sys_flag": 0,
        "born_timestamp": NOW - 1,
        "flag": 0,
        "properties": properties,
        "reconsume_times": 0,
        "unit_mode": False,
        "batch": False,
        **changes,
    }
    return encode_ext(SendMessageRequestHeader(**values), short=short)


def batch_body(bodies: Iterable[bytes], properties: str = "") -> bytes:
    """The body of a batch send."""
    return encode_batch([BatchItem(flag=0, body=body, properties=properties.encode()) for body in bodies])


def pull_ext(topic: str, offset: int = 0, **changes: Any) -> dict[str, str]:
    """The header of a pull."""
    values: dict[str, Any] = {
        "consumer_group": "G",
        "topic": topic,
        "queue_id": 0,
        "queue_offset": offset,
        "max_msg_nums": 32,
        "sys_flag": PullSysFlag.SUBSCRIPTION,
        "commit_offset": 0,
        "suspend_timeout_millis": 15_000,
        "sub_version": 0,
        "subscription": "*",
        "expression_type": "TAG",
        **changes,
    }
    return encode_ext(PullMessageRequestHeader(**values))


def subscription(topic: str, expression: str = "*", version: int = 1, **changes: Any) -> SubscriptionData:
    """A subscription as a client builds it."""
    tags = frozenset() if expression == "*" else frozenset(tag.strip() for tag in expression.split("||"))
    return SubscriptionData(
        topic=topic,
        sub_string=expression,
        tags_set=tags,
        code_set=frozenset(string_hash(tag) for tag in tags),
        sub_version=version,
        **changes,
    )


def consumer(group: str, *subscriptions: SubscriptionData, **changes: Any) -> ConsumerData:
    """A push consumer's part of a heartbeat."""
    values: dict[str, Any] = {
        "group_name": group,
        "consume_type": ConsumeType.CONSUME_PASSIVELY,
        "message_model": MessageModel.CLUSTERING,
        "subscription_data_set": subscriptions,
        **changes,
    }
    return ConsumerData(**values)


def heartbeat(client_id: str, *consumers: ConsumerData, producers: Sequence[str] = ()) -> bytes:
    """A heartbeat's body."""
    return encode_body(
        HeartbeatData(
            client_id=client_id,
            consumer_data_set=consumers,
            producer_data_set=tuple(ProducerData(group_name=name) for name in producers),
        )
    )


def records(body: bytes | memoryview) -> list[MessageRecord]:
    """The messages of a pull's answer."""
    found = []
    at = 0
    while at < len(body):
        found.append(decode_record(body, at))
        at += int.from_bytes(body[at : at + 4], "big")
    return found


def bodies(answer: Frame) -> list[bytes]:
    """The bodies of the messages in an answer."""
    return [message.body for message in records(answer.body)]


def code_and_remark(frame: Frame) -> tuple[int, str | None]:
    """The parts of an answer that most tests of errors check."""
    return frame.header.code, frame.header.remark


def offsets_of(frame: Frame) -> tuple[int, int, int]:
    """Next, min and max offset of a pull's answer."""
    assert frame.header.ext is not None
    ext = frame.header.ext
    return int(ext["nextBeginOffset"]), int(ext["minOffset"]), int(ext["maxOffset"])


class Server:
    """A running server."""

    def __init__(
        self,
        config: ServerConfig,
        clock: Clock,
        run_sync: RunSync = run_inline,
        supervisor: SupervisorLink | None = None,
    ) -> None:
        self._supervisor = supervisor
        self.config = config
        self.clock = clock
        self.chosen: list[int] = []
        self.name_server_address = config.name_server or config.name_servers[0]
        self.broker_address = config.broker.address
        self.advertised = config.broker.address
        self.http: Address | None = None
        self.grpc: Address | None = None
        self._run_sync = run_sync
        self._clients: list[Client] = []
        self._scope = trio.CancelScope()
        self._ready = trio.Event()

    def choose(self, bound: int) -> int:
        """The last object of the given ones; logs how many there are."""
        self.chosen.append(bound)
        return bound - 1

    def broker(self, **options: Any) -> Client:
        """A new connection to the broker."""
        return self.adopt(Client(self.broker_address, **options))

    def name_server(self) -> Client:
        """A new connection to the name server."""
        return self.adopt(Client(self.name_server_address))

    def to(self, address: Address) -> Client:
        """A new connection to another address."""
        return self.adopt(Client(address))

    def stop(self) -> None:
        """Stop as after a signal, before the end of the block."""
        self._scope.cancel()

    def adopt(self, client: Client) -> Client:
        """Close this connection when the server stops."""
        self._clients.append(client)
        return client

    async def pass_time(self, seconds: float, step: float = 10.0) -> None:
        """Advance both clocks, in steps, so that recurring work recurs."""
        await settle()
        left = seconds
        while left > 0:
            now = min(step, left)
            self.clock.now += round(now * 1000)
            mock_clock().jump(now)
            await settle()
            left -= now

    def _listens(self, ready: ServerAddresses) -> None:
        assert ready.broker is not None
        self.name_server_address = ready.name_server or self.config.name_servers[0]
        self.http = ready.http
        self.grpc = ready.grpc
        self.advertised = ready.broker
        if not self.config.broker.listen_port:
            self.broker_address = replace(self.config.broker.address, port=ready.broker.port)
        self._ready.set()

    async def _run(self) -> None:
        with self._scope:
            await serve(
                self.config,
                clock=self.clock,
                choose=self.choose,
                run_sync=self._run_sync,
                supervisor=self._supervisor,
                ready=self._listens,
            )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Server]:
        """Serve while the block runs; then stop as after a signal."""
        late = threading.Event()
        token = trio.lowlevel.current_trio_token()

        def give_up() -> None:
            late.set()
            token.run_sync_soon(nursery.cancel_scope.cancel)

        watchdog = threading.Timer(REAL_SECONDS, give_up)
        try:
            async with trio.open_nursery() as nursery:
                watchdog.start()
                nursery.start_soon(self._run)
                await self._ready.wait()
                try:
                    yield self
                finally:
                    self._scope.cancel()
        finally:
            watchdog.cancel()
            for client in self._clients:
                client.close()
        assert not late.is_set(), f"not done after {REAL_SECONDS} s"


def serving(
    store: Path,
    *,
    clock: Clock | None = None,
    run_sync: RunSync = run_inline,
    supervisor: SupervisorLink | None = None,
    **changes: Any,
) -> contextlib.AbstractAsyncContextManager[Server]:
    """A server with some configuration changed."""
    return Server(small_config(store, **changes), clock or Clock(), run_sync, supervisor).running()


@contextlib.asynccontextmanager
async def serving_topic(store: Path, *, queues: int = 1, **settings: Any) -> AsyncIterator[tuple[Server, Client]]:
    """A server, as of `serving`, and a connection to its broker, which has the topic T."""
    async with serving(store, **settings) as server:
        client = server.broker()
        await client.create_topic("T", queues)
        yield server, client


class HangingDisk:
    """Runs blocking calls inline, but none while `hangs`."""

    def __init__(self) -> None:
        self.hangs = False
        self._moves = trio.Event()

    async def __call__(self, sync_fn: Any, *args: Any) -> Any:
        while self.hangs:
            await self._moves.wait()
        return await run_inline(sync_fn, *args)

    def move(self) -> None:
        """Let the waiting calls continue."""
        self.hangs = False
        self._moves.set()
        self._moves = trio.Event()


class FullDisk:
    """Makes the real file system refuse room for new bytes while `full`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        for name in ("create", "reserve"):
            real = getattr(FileSystem, name)
            monkeypatch.setattr(FileSystem, name, self._refusing(real))

    def _refusing(self, real: Any) -> Any:
        def refusing(*args: Any) -> Any:
            if self.full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args)

        return refusing


class SlowDisk:
    """Makes the kernel slow to provide new pages of a file: both clocks advance by `seconds` with each request."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        real = FileSystem.populate

        def slow(*args: Any) -> bool:
            seconds, self.seconds = self.seconds, 0.0
            mock_clock().jump(seconds)
            return real(*args)

        monkeypatch.setattr(FileSystem, "populate", slow)


class Call(NamedTuple):
    """A request to a `FakePeer`; the test calls `done`."""

    code: int
    ext: dict[str, str]
    body: bytes
    seconds: float
    done: OnClientAnswer


class FakePeer:
    """A connection for services that need no socket: keeps what is sent to it."""

    def __init__(self, name: str = "127.0.0.1:1000") -> None:
        self.name = name
        self.born_host = b"\x7f\0\0\x01\0\0\x03\xe8"
        self.congested = False
        self.closed = False
        self.pushed: list[tuple[int, dict[str, str]]] = []
        self.pushed_bodies: list[bytes] = []
        self.calls: list[Call] = []
        self.replies: list[tuple[Any, Any]] = []
        self.flushed = 0
        self.kept = 0
        self.refused: list[LimitExceeded] = []

    @property
    def remote_text(self) -> str:
        return self.name

    def push(self, code: int, ext: dict[str, str], body: bytes = b"") -> None:
        self.pushed.append((code, ext))
        self.pushed_bodies.append(body)

    def call(self, code: int, ext: dict[str, str], body: bytes, *, seconds: float, done: OnClientAnswer) -> None:
        self.calls.append(Call(code, ext, body, seconds, done))

    def reply(self, request: Any, reply: Any) -> None:
        self.replies.append((request, reply))

    def flush(self) -> None:
        self.flushed += 1

    def keep(self, size: int) -> None:
        self.kept = size

    def limited(self, error: LimitExceeded) -> None:
        self.refused.append(error)
