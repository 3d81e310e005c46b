"""The bytes of a recording, declared with construct: a head, then blocks with a checksum each, events in the blocks."""

from __future__ import annotations

from typing import Any, Final

import construct as cs
from crc32c import crc32c

from rocketwire.capture.errors import NotARecording
from rocketwire.capture.file.events import (
    ConnectionOpened,
    CutParts,
    Event,
    FrameSent,
    RecordingStarted,
    RecordingStopped,
    Role,
    StreamEnded,
    StreamSource,
    UnreadableBytes,
)

MAGIC: Final = b"RWRECORD"
VERSION: Final = 1
BLOCK_MAGIC: Final = b"\xf7RWB"
"""0xF7 is in no UTF-8 text, so that a text hardly ever looks like a block."""
MOST_PAYLOAD: Final = 64 << 20
"""Bytes of a block's payload. A block is written once it has 256 KiB, and one frame has 16 MiB at most."""

HEAD: Final = cs.Struct("magic" / cs.Const(MAGIC), "version" / cs.Int16ub, "reserved" / cs.Const(0, cs.Int16ub))
BLOCK_HEAD: Final = cs.Struct(
    "magic" / cs.Const(BLOCK_MAGIC),
    "checksum" / cs.Int32ub,
    "number" / cs.Int32ub,
    "length" / cs.Int32ub,
)
"""`checksum` is the CRC-32C of number, length and payload; the payload has `length` bytes and follows."""
_COUNTED: Final = cs.Struct("number" / cs.Int32ub, "length" / cs.Int32ub)
_TEXT: Final = cs.Prefixed(cs.Int16ub, cs.GreedyBytes)

_CONTENTS: Final[dict[type[Event], tuple[int, Any]]] = {
    RecordingStarted: (
        1,
        cs.Struct("wall" / cs.Int64sb, "flags" / cs.Int8ub, "upstream" / _TEXT, "program" / _TEXT),
    ),
    ConnectionOpened: (2, cs.Struct("role" / cs.Int8ub, "client" / _TEXT, "server" / _TEXT)),
    FrameSent: (
        3,
        cs.Struct("source" / cs.Int8ub, "left" / cs.Int8ub, "size" / cs.Int32ub, "data" / cs.GreedyBytes),
    ),
    UnreadableBytes: (4, cs.Struct("source" / cs.Int8ub, "size" / cs.Int32ub, "data" / cs.GreedyBytes)),
    StreamEnded: (5, cs.Struct("source" / cs.Int8ub, "reason" / _TEXT)),
    RecordingStopped: (6, cs.Struct()),
}
_KINDS: Final = {number: (kind, content) for kind, (number, content) in _CONTENTS.items()}
EVENT: Final = cs.Struct(
    "kind" / cs.Int8ub,
    "time" / cs.Int64ub,
    "connection" / cs.Int32ub,
    "content" / cs.Prefixed(cs.Int32ub, cs.GreedyBytes),
)
"""`kind` is a number of the table above, `time` microseconds since the start; a reader skips kinds it does not know."""
_EVENT_LIST: Final = cs.FocusedSeq("events", "events" / cs.GreedyRange(EVENT), cs.Terminated)

_BODIES: Final = 1
_SECRETS: Final = 2
_ENUMS: Final = {"role": Role, "source": StreamSource, "left": CutParts}
_MOST_TEXT: Final = 0xFFFF


def encode_head() -> bytes:
    """The first bytes of the file."""
    found: bytes = HEAD.build({"version": VERSION})
    return found


def check_head(data: bytes) -> None:
    """Check the first bytes of a file.

    Raises:
        NotARecording: they are others, or of a later version.
    """
    if data[: len(MAGIC)] != MAGIC:
        raise NotARecording(f"it begins with {data[: len(MAGIC)]!r}")
    try:
        head = HEAD.parse(data)
    except cs.ConstructError:
        raise NotARecording("its head is cut off or damaged") from None
    if head.version != VERSION:
        raise NotARecording(f"its version is {head.version}, and only {VERSION} can be read")


def encode_block(number: int, payload: bytes) -> bytes:
    """A block of encoded events; blocks are numbered from 0 on."""
    counted = _COUNTED.build({"number": number, "length": len(payload)})
    checksum = crc32c(payload, crc32c(counted))
    head: bytes = BLOCK_HEAD.build({"checksum": checksum, "number": number, "length": len(payload)})
    return head + payload


def fits(checksum: int, number: int, payload: bytes | memoryview) -> bool:
    """Whether a checksum is that of a block with this number and payload."""
    counted = _COUNTED.build({"number": number, "length": len(payload)})
    return bool(crc32c(payload, crc32c(counted)) == checksum)


def encode_event(event: Event) -> bytes:
    """The bytes of one event in a block's payload."""
    number, content = _CONTENTS[type(event)]
    fields: dict[str, Any] = {}
    for name in event.__slots__:
        value = getattr(event, name)
        fields[name] = value.encode("utf-8", "replace")[:_MOST_TEXT] if isinstance(value, str) else value
    if isinstance(event, RecordingStarted):
        fields["flags"] = _BODIES * event.bodies | _SECRETS * event.secrets
    head = {"kind": number, "time": event.time, "connection": fields.get("connection", 0)}
    found: bytes = EVENT.build({**head, "content": content.build(fields)})
    return found


def decode_events(payload: bytes) -> list[Event]:
    """The events of a block's payload; kinds of later versions are skipped.

    Raises:
        NotARecording: the payload, whose checksum fits, has another form.
    """
    try:
        found = _EVENT_LIST.parse(payload)
        events = [_event(each) for each in found if each.kind in _KINDS]
    except (cs.ConstructError, ValueError) as error:
        raise NotARecording(f"a block has another form: {error}") from None
    return events


def _event(each: Any) -> Event:  # noqa: ANN401 - what construct makes
    kind, content = _KINDS[each.kind]
    values = {name: value for name, value in content.parse(each.content).items() if name in (*kind.__slots__, "flags")}
    for name, value in values.items():
        if name in _ENUMS:
            values[name] = _ENUMS[name](value)
        elif isinstance(value, bytes) and name != "data":
            values[name] = value.decode("utf-8", "replace")
    if kind is RecordingStarted:
        flags = values.pop("flags")
        values |= {"bodies": bool(flags & _BODIES), "secrets": bool(flags & _SECRETS)}
    if "connection" in kind.__slots__:
        values["connection"] = each.connection
    return kind(time=each.time, **values)
