"""A minimal remoting client, so that the tests' set-up depends neither on rocketwire's codec nor on a client's.

A frame is a length (4 bytes, of all that follows), a header length (4 bytes, the upper one the serialise type, 0 =
JSON), the header and the body. Answers come in any order; their `opaque` is that of the request.
"""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, Self

PULL_MESSAGE: Final = 11
GET_MAX_OFFSET: Final = 30
GET_ROUTE_BY_TOPIC: Final = 105
SEND_MESSAGE_V2: Final = 310
WITH_SUBSCRIPTION: Final = 4
"""The flag of a pull that names what it wants."""
_TIMEOUT: Final = 60.0
_AT_ONCE: Final = 64  # requests on the way
_ANSWER: Final = 1  # the flag of frames that answer one


class FrameRequest(NamedTuple):
    """A request: its code, the header's fields and the body."""

    code: int
    fields: Mapping[str, str | int]
    body: bytes = b""


def send(
    topic: str, body: bytes = b"body", *, properties: str = "", queue: int = 0, **changes: str | int
) -> FrameRequest:
    """A send of one message; `changes` are fields by their short names."""
    fields: dict[str, str | int] = {"a": "producers", "b": topic, "c": "TBW102", "d": 4, "e": queue, "f": 0, "g": 1}
    fields |= {"h": 0, "i": properties, "j": 0, "k": "false", "m": "false"}
    return FrameRequest(SEND_MESSAGE_V2, {**fields, **changes}, body)


def pull(topic: str, group: str = "readers", **changes: str | int) -> FrameRequest:
    """A pull from a queue, the first one, that brings its subscription (to everything) and does not wait."""
    fields: dict[str, str | int] = {"consumerGroup": group, "topic": topic, "queueId": 0, "queueOffset": 0}
    fields |= {"maxMsgNums": 32, "sysFlag": WITH_SUBSCRIPTION, "commitOffset": 0, "suspendTimeoutMillis": 0}
    fields |= {"subscription": "*", "subVersion": 0, "expressionType": "TAG"}
    return FrameRequest(PULL_MESSAGE, {**fields, **changes})


def _framed(header: Mapping[str, Any], body: bytes) -> bytes:
    packed = json.dumps({"language": "JAVA", "version": 407, **header}).encode()
    return struct.pack(">II", 4 + len(packed) + len(body), len(packed)) + packed + body


class Answer(NamedTuple):
    """What came back: the response code, its remark, the header's fields and the body."""

    code: int
    remark: str
    fields: Mapping[str, str]
    body: bytes


class Connection:
    """One connection to a server, HOST:PORT or [IPV6]:PORT. Everything raises OSError when it does not answer."""

    def __init__(self, address: str, *, timeout: float = _TIMEOUT) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout)
        self._stream = self._socket.makefile("rb")
        self._opaque = 0

    def __enter__(self) -> Self:
        """Close it at the end of a `with`."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close."""
        self._stream.close()
        self._socket.close()

    def ask(self, code: int, fields: Mapping[str, str | int] | None = None, body: bytes = b"") -> Answer:
        """The answer to one request."""
        (answer,) = self.ask_all([FrameRequest(code, fields or {}, body)])
        return answer

    def ask_all(self, requests: Iterable[FrameRequest]) -> list[Answer]:
        """The answers to the requests, in the order of these; many are on their way at once."""
        waiting = list(requests)
        answers: list[Answer] = []
        for start in range(0, len(waiting), _AT_ONCE):
            some = waiting[start : start + _AT_ONCE]
            first = self._opaque + 1
            self._socket.sendall(b"".join(self._frame(each) for each in some))
            by_opaque = dict(self._answer() for _ in some)
            answers += [by_opaque[first + number] for number in range(len(some))]
        return answers

    def question(self, code: int) -> int:
        """The opaque of the server's next request of a code; what comes before is skipped."""
        while True:
            header, _ = self._received()
            if header["code"] == code and not header["flag"] & _ANSWER:
                return int(header["opaque"])

    def answer(self, opaque: int, body: bytes) -> None:
        """Answer a request of the server, or what may be one."""
        self._socket.sendall(_framed({"code": 0, "flag": _ANSWER, "opaque": opaque, "extFields": {}}, body))

    def _frame(self, request: FrameRequest) -> bytes:
        self._opaque += 1
        fields = {name: str(value) for name, value in request.fields.items()}
        return _framed({"code": request.code, "flag": 0, "opaque": self._opaque, "extFields": fields}, request.body)

    def _answer(self) -> tuple[int, Answer]:
        """The next answer; requests of the server are skipped."""
        header, body = self._received()
        while not header["flag"] & _ANSWER:
            header, body = self._received()
        fields = header.get("extFields") or {}
        return header["opaque"], Answer(header["code"], header.get("remark") or "", fields, body)

    def _received(self) -> tuple[dict[str, Any], bytes]:
        length, header_length = struct.unpack(">II", self._exactly(8))
        header_length &= 0xFFFFFF
        header: dict[str, Any] = json.loads(self._exactly(header_length))
        return header, self._exactly(length - 4 - header_length)

    def _exactly(self, count: int) -> bytes:
        data = self._stream.read(count)
        if len(data) < count:
            raise ConnectionError(f"the connection ended after {len(data)} of {count} bytes")
        return data


def request(address: str, code: int, fields: Mapping[str, str | int] | None = None, body: bytes = b"") -> Answer:
    """The answer to one request on a new connection. Raises OSError when the server does not answer."""
    with Connection(address) as connection:
        return connection.ask(code, fields, body)


def max_offset(broker: str, topic: str, queue: int) -> int:
    """The offset that the queue's next message gets. Raises OSError when the broker does not answer."""
    answer = request(broker, GET_MAX_OFFSET, {"topic": topic, "queueId": queue})
    assert answer.code == 0, answer
    return int(answer.fields["offset"])


def broker_addresses(namesrv: str, topic: str) -> set[str]:
    """The broker addresses in the topic's route; empty when the topic has none or the name server is away.

    Read with a pattern, not a JSON parser: name servers write the broker ids in `brokerAddrs` as bare numbers.
    """
    try:
        answer = request(namesrv, GET_ROUTE_BY_TOPIC, {"topic": topic})
    except OSError:
        return set()
    return set(re.findall(r'"?\d+"?:"([^"]+:\d+)"', answer.body.decode())) if answer.code == 0 else set()
