"""Requests of the largest allowed size, and one larger: of every method and repeated field in the descriptors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, Self

import trio
from google.protobuf.descriptor import FieldDescriptor

from rocketwire.wire.grpc.bounds import ENTRIES, request_bytes
from rocketwire.wire.grpc.methods import METHODS
from rocketwire.wire.grpc.request_scan import make_rules
from rocketwire.wire.http2.messages import PREFIX
from tests.server.grpc.sdk import Incoming, Sdk

BODY: Final = 4 << 20
MESSAGES, CALLS, NAMES = make_rules()
_UNKNOWN: Final = b"\xa2\x06"
"""The tag of field 100, which no message has, with a length."""


class Case(NamedTuple):
    """One request.

    Attributes:
        what: Which part is the largest: `bytes`, `fields`, or the field's name; and the method.
        payload: Its message; of one that is too long only the beginning is needed.
        length: The announced length of the message.
        refused: Whether there is one too many.
    """

    path: str
    what: str
    payload: bytes
    length: int
    refused: bool


def cases(path: str) -> Iterator[Case]:
    """The largest requests of a method, and the smallest refused ones."""
    most = request_bytes(BODY)[path]
    head = _UNKNOWN + _varint(most - 5 if most > 1 << 16 else most - 4)
    padding = head + bytes(most - len(head))
    yield Case(path, "bytes", padding, most, refused=False)
    yield Case(path, "bytes", b"", most + 1, refused=True)
    fields = CALLS[path].fields
    yield _case(path, "fields", b"\xa0\x06\0" * fields, refused=False)
    yield _case(path, "fields", b"\xa0\x06\0" * (fields + 1), refused=True)
    for trail, field in _repeated(METHODS[path].request.DESCRIPTOR, ()):
        entries = ENTRIES[field.full_name]
        if entries + len(trail) < fields:
            yield _case(path, field.full_name, _nested(trail, field, entries), refused=False)
            yield _case(path, field.full_name, _nested(trail, field, entries + 1), refused=True)


def _case(path: str, what: str, payload: bytes, *, refused: bool) -> Case:
    assert len(payload) <= request_bytes(BODY)[path], (path, what)
    return Case(path, what, payload, len(payload), refused)


def _repeated(descriptor: Any, trail: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], FieldDescriptor]]:
    """The repeated fields of a message, and of those in it, each with the numbers of the enclosing fields."""
    for field in descriptor.fields:
        if field.full_name in NAMES.values():
            yield trail, field
        if field.message_type is not None:
            yield from _repeated(field.message_type, (*trail, field.number))


def _nested(trail: tuple[int, ...], field: FieldDescriptor, entries: int) -> bytes:
    """A field with so many entries, all of them empty or 0."""
    number = field.type in {FieldDescriptor.TYPE_ENUM, FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64}
    payload = (_varint(field.number << 3 | (0 if number else 2)) + b"\0") * entries
    for each in reversed(trail):
        payload = _varint(each << 3 | 2) + _varint(len(payload)) + payload
    return payload


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


async def outcome_of(sdk: Sdk, case: Case) -> Incoming:
    """The outcome of a request; of a stream of messages, once it has ended or has an answer."""
    streaming = METHODS[case.path].streams_requests or METHODS[case.path].streams_responses
    stream = sdk.open(case.path)
    incoming = sdk.incoming[stream]
    rest = memoryview(PREFIX.pack(0, case.length) + case.payload)
    while rest and not incoming.over:
        room = min(sdk.http2.local_flow_control_window(stream), sdk.http2.max_outbound_frame_size, len(rest))
        if room:
            sdk.http2.send_data(stream, rest[:room].tobytes())
            rest = rest[room:]
            await sdk.send_out()
        else:
            await read(sdk)
    if not incoming.over:
        sdk.http2.end_stream(stream)
        await sdk.send_out()
    while not incoming.over and not (streaming and incoming.data):
        await read(sdk)
    if not incoming.over:
        await sdk.cancel(stream)
    return incoming


async def read(sdk: Sdk) -> None:
    """Read once."""
    await sdk.read()
    assert not sdk.ended, "the server closed the connection"


class LongestStep(trio.abc.Instrument):
    """How long one task blocked the others, except the test's own: processor time in seconds."""

    def __init__(self) -> None:
        self._own = trio.lowlevel.current_task()
        self._began = 0.0
        self.seconds = 0.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Take the time."""
        del task
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Compare."""
        if task is not self._own:
            self.seconds = max(self.seconds, time.thread_time() - self._began)

    def __enter__(self) -> Self:
        trio.lowlevel.add_instrument(self)
        return self

    def __exit__(self, *_: object) -> None:
        trio.lowlevel.remove_instrument(self)
