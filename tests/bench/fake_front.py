"""A gRPC front that answers every call as a test defines, on a thread for each connection."""

import contextlib
import socket
from collections.abc import Callable, Sequence
from typing import Final

from google.protobuf.message import Message

from rocketwire.wire.grpc.service_pb2 import (
    AckMessageRequest,
    ReceiveMessageRequest,
    SendMessageRequest,
    TelemetryCommand,
)
from rocketwire.wire.http2.connection import PythonHttp2
from rocketwire.wire.http2.events import CALL, FAILED, MESSAGE, OPENED
from tests.bench.fake_server import FakeServer

SERVICE: Final = "/apache.rocketmq.v2.MessagingService/"
TELEMETRY: Final = f"{SERVICE}Telemetry"
REQUESTS: Final[dict[str, type[Message]]] = {
    f"{SERVICE}SendMessage": SendMessageRequest,
    f"{SERVICE}ReceiveMessage": ReceiveMessageRequest,
    f"{SERVICE}AckMessage": AckMessageRequest,
    TELEMETRY: TelemetryCommand,
}
UNIMPLEMENTED: Final = 12

Answer = Sequence[Message] | None
"""The messages of the answer; None: a gRPC error."""


class FakeFront(FakeServer):
    def __init__(self, answer: Callable[[Message], Answer]) -> None:
        super().__init__()
        self._answer = answer
        self.requests: list[Message] = []
        self.headers: list[dict[str, str]] = []

    def serve(self, client: socket.socket) -> None:
        http2 = PythonHttp2(
            streaming=frozenset({TELEMETRY}), max_message=1 << 20, max_header_list=8192, max_streams=100, window=1 << 20
        )
        # The load program may leave with answers on their way.
        with contextlib.suppress(OSError), client:
            while data := client.recv(65536):
                for kind, stream, *said in http2.receive(data):
                    if kind == FAILED:
                        raise AssertionError(said)
                    if kind == CALL:
                        path, headers, payload = said
                        self.headers.append(headers)
                        self._respond(http2, stream, REQUESTS[path].FromString(payload))
                    if kind == OPENED:
                        self.headers.append(said[1])
                    if kind == MESSAGE:
                        self.requests.append(TelemetryCommand.FromString(said[0]))
                        http2.message(stream, TelemetryCommand().SerializeToString())
                while out := http2.output(65536):
                    client.sendall(out)

    def _respond(self, http2: PythonHttp2, stream: int, request: Message) -> None:
        self.requests.append(request)
        messages = self._answer(request)
        if messages is None:
            http2.finish(stream, UNIMPLEMENTED, "no such method")
            return
        for message in messages:
            http2.message(stream, message.SerializeToString())
        http2.finish(stream, 0)
