"""The calls of a 5.x SDK, made by hand: one connection, calls and telemetry streams on it."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Mapping
from typing import Any, Self

import pytest
import trio
from google.protobuf.message import Message
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.settings import SettingCodes

from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.grpc.methods import METHODS
from tests.server.harness import NOW, Client, settle

SERVICE = "/apache.rocketmq.v2.MessagingService/"
CLIENT = "host@1@0@abc"
DIALLED = d.Endpoints(scheme=d.IPv4, addresses=[d.Address(host="dialled.example", port=4711)])


class Incoming:
    """The received parts of one answer.

    Attributes:
        data: The bytes of messages.
        headers: Its headers and trailers.
        over: Whether the server has ended it.
        reset: The code with which the server has reset it.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self.headers: dict[str, str] = {}
        self.over = False
        self.reset: int | None = None
        self.commands: list[s.TelemetryCommand] = []

    def messages(self, kind: type[Message]) -> list[Any]:
        """The whole messages so far, which are removed."""
        found = []
        while len(self.data) >= 5:
            size = int.from_bytes(self.data[1:5])
            if len(self.data) < 5 + size:
                break
            found.append(kind.FromString(bytes(self.data[5 : 5 + size])))
            del self.data[: 5 + size]
        return found

    @property
    def status(self) -> int:
        """The gRPC status."""
        return int(self.headers["grpc-status"])


class Sdk:
    """One connection."""

    def __init__(
        self,
        address: Address,
        client_id: str = CLIENT,
        headers: Mapping[str, str] | None = None,
        *,
        window: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.sock = socket.create_connection((address.host, address.port))
        self.incoming_tls, self.outgoing_tls = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = None if tls is None else tls.wrap_bio(self.incoming_tls, self.outgoing_tls)
        self.sock.setblocking(False)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client_id = client_id
        self.headers = dict(headers or {})
        self.http2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.http2.initiate_connection()
        if window is not None:
            self.http2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.incoming: dict[int, Incoming] = {}
        self.goaway: int | None = None
        self.ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.sock.close()

    async def shake_hands(self) -> None:
        """Do the handshake."""
        assert self.tls is not None
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._send(self.outgoing_tls.read())
                await trio.lowlevel.wait_readable(self.sock)
                self.incoming_tls.write(self.sock.recv(1 << 16))
            else:
                await self._send(self.outgoing_tls.read())
                return

    async def send_out(self) -> None:
        """Send the bytes that the protocol has to send."""
        data = self.http2.data_to_send()
        if self.tls is not None:
            if data:
                self.tls.write(data)
            data = self.outgoing_tls.read()
        await self._send(data)

    async def _send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self.sock.send(rest) :]
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self.sock)

    def open(self, path: str, headers: Mapping[str, str] | None = None) -> int:
        """Begin a call."""
        stream = self.http2.get_next_available_stream_id()
        sent_headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": path,
            ":authority": "dialled.example:4711",
            "te": "trailers",
            "content-type": "application/grpc",
            "x-mq-client-id": self.client_id,
            "x-mq-language": "JAVA",
            "x-mq-client-version": "5.2.0",
            **self.headers,
            **(headers or {}),
        }
        self.http2.send_headers(stream, [(name, value) for name, value in sent_headers.items() if value])
        self.incoming[stream] = Incoming()
        return stream

    def put(self, stream: int, message: Message | bytes, *, end: bool = True) -> None:
        """Send a message of a call."""
        data = message if isinstance(message, bytes) else message.SerializeToString()
        data = b"\0" + len(data).to_bytes(4) + data
        most = self.http2.max_outbound_frame_size
        while len(data) > most:
            self.http2.send_data(stream, data[:most])
            data = data[most:]
        self.http2.send_data(stream, data, end_stream=end)

    async def begin(self, name: str, request: Message, headers: Mapping[str, str] | None = None) -> int:
        """Make a call; its stream."""
        stream = self.open(SERVICE + name if "/" not in name else name, headers)
        self.put(stream, request)
        await self.send_out()
        return stream

    async def wait_until_over(self, stream: int) -> Incoming:
        """Wait until a call is answered."""
        incoming = self.incoming[stream]
        while not incoming.over:
            assert not self.ended, "the server closed the connection"
            await self.read()
        return incoming

    async def call(self, name: str, request: Message, headers: Mapping[str, str] | None = None) -> Any:
        """Make a call and wait for its response."""
        found = await self.wait_until_over(await self.begin(name, request, headers))
        assert found.status == 0, found.headers
        (response,) = found.messages(METHODS[SERVICE + name if "/" not in name else name].response)
        return response

    async def call_each(
        self, name: str, *requests: Message, headers: Mapping[str, str] | None = None
    ) -> list[list[Any]]:
        """Make calls in one read of the server, and wait for them; the messages of each response."""
        streams = [self.open(SERVICE + name, headers) for _ in requests]
        for stream, request in zip(streams, requests, strict=True):
            self.put(stream, request)
        await self.send_out()
        return [(await self.wait_until_over(stream)).messages(METHODS[SERVICE + name].response) for stream in streams]

    async def receive(self, request: Message, headers: Mapping[str, str] | None = None) -> list[Any]:
        """Receive messages: all responses of the stream."""
        found = await self.wait_until_over(await self.begin("ReceiveMessage", request, headers))
        assert found.status == 0, found.headers
        return found.messages(s.ReceiveMessageResponse)

    async def cancel(self, stream: int) -> None:
        """Cancel a call."""
        self.http2.reset_stream(stream, 8)
        await self.send_out()

    async def read(self) -> None:
        """Read once."""
        await trio.lowlevel.wait_readable(self.sock)
        self.read_waiting()
        await self.send_out()

    async def rest(self) -> None:
        """Read until the server is at rest."""
        await settle()
        while self.read_waiting():
            await self.send_out()
            await settle()

    def read_waiting(self) -> bool:
        """Read the waiting bytes; false if there are none."""
        try:
            data = self.sock.recv(1 << 20)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self.ended = True
            return False
        if self.tls is not None:
            self.incoming_tls.write(data)
            data = b""
            with contextlib.suppress(ssl.SSLWantReadError):
                while more := self.tls.read(1 << 16):
                    data += more
        for event in self.http2.receive_data(data):
            if isinstance(event, ConnectionTerminated):
                self.goaway = int(event.error_code or 0)
            else:
                incoming = self.incoming.get(getattr(event, "stream_id", None) or 0)
                if incoming is not None:
                    self._record_event(incoming, event)
        return True

    def _record_event(self, incoming: Incoming, event: Event) -> None:
        if isinstance(event, ResponseReceived | TrailersReceived):
            incoming.headers.update(event.headers)  # type: ignore[arg-type]
        elif isinstance(event, DataReceived):
            incoming.data += event.data
            if event.flow_controlled_length:
                self.http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            incoming.over = True
        elif isinstance(event, StreamReset):
            incoming.over, incoming.reset = True, int(event.error_code)

    # --- telemetry

    async def telemetry(self, settings: d.Settings, headers: Mapping[str, str] | None = None) -> int:
        """Open a telemetry stream with these settings."""
        stream = self.open(f"{SERVICE}Telemetry", headers)
        self.put(stream, s.TelemetryCommand(settings=settings), end=False)
        await self.send_out()
        return stream

    async def command(self, stream: int) -> Any:
        """The next command on a telemetry stream."""
        incoming = self.incoming[stream]
        while True:
            incoming.commands += incoming.messages(s.TelemetryCommand)
            if incoming.commands:
                return incoming.commands.pop(0)
            assert not incoming.over, incoming.headers
            await self.read()


def topic(name: str = "T") -> d.Resource:
    return d.Resource(name=name)


def message(body: bytes = b"hello", message_id: str = "01" + "0" * 32, *, to: str = "T", **system: Any) -> d.Message:
    """A message of a producer."""
    system.setdefault("message_type", d.NORMAL)
    properties = d.SystemProperties(message_id=message_id, **system)
    properties.born_timestamp.FromMilliseconds(NOW)
    return d.Message(topic=topic(to), body=body, system_properties=properties)


def send_request(*messages: d.Message) -> s.SendMessageRequest:
    return s.SendMessageRequest(messages=messages or [message()])


def producer_settings(*topics: str) -> d.Settings:
    publishing = d.Publishing(topics=[topic(name) for name in topics or ("T",)])
    return d.Settings(client_type=d.PRODUCER, publishing=publishing)


def consumer_settings(
    group: str = "G", expression: str = "*", kind: d.ClientType = d.SIMPLE_CONSUMER, *, to: str = "T"
) -> d.Settings:
    entry = d.SubscriptionEntry(topic=topic(to), expression=d.FilterExpression(type=d.TAG, expression=expression))
    return d.Settings(
        client_type=kind, subscription=d.Subscription(group=d.Resource(name=group), subscriptions=[entry])
    )


def receive_request(
    group: str = "G",
    expression: str = "*",
    *,
    to: str = "T",
    queue: int = -1,
    most: int = 16,
    invisible: int = 30,
    polling: int | None = None,
    **more: Any,
) -> s.ReceiveMessageRequest:
    request = s.ReceiveMessageRequest(
        group=d.Resource(name=group),
        message_queue=d.MessageQueue(topic=topic(to), id=queue),
        filter_expression=d.FilterExpression(type=d.TAG, expression=expression),
        batch_size=most,
        **more,
    )
    if invisible:
        request.invisible_duration.FromSeconds(invisible)
    if polling is not None:
        request.long_polling_timeout.FromSeconds(polling)
    return request


def code_of(response: Any) -> Code:
    return Code(response.status.code)


async def create_group(broker: Client, name: str, **changes: Any) -> None:
    """Create a consumer group."""
    body = encode_body(SubscriptionGroupConfig(group_name=name, **changes))
    answer = await broker.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)
    assert answer.header.code == 0, answer.header.remark


def counted_serves(monkeypatch: pytest.MonkeyPatch, kind: type[Any]) -> list[int]:
    """Records, from now on, how many calls of each read this class serves together."""
    counts: list[int] = []
    serve = kind.serve

    def counted(self: Any, events: Any, line: Any) -> int:
        counts.append(serve(self, events, line))
        return counts[-1]

    monkeypatch.setattr(kind, "serve", counted)
    return counts
