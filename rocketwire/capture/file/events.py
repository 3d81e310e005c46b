"""What a recording consists of: events in the order of their times."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import TypeAlias


class Role(IntEnum):
    """What a connection leads to."""

    NAME_SERVER = 0
    BROKER = 1


class StreamSource(IntEnum):
    """One of the two ends of a connection."""

    CLIENT = 0
    SERVER = 1


class CutParts(IntFlag):
    """What a recorded frame lacks of the one that was sent."""

    ACCOUNT = 1
    """Access key and signature are masked."""
    SECRETS = 2
    """Other secrets are masked, in the header's fields or in the body."""
    BODY = 4
    """The body is not in the recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingStarted:
    """The first event of a recording.

    Attributes:
        time: Microseconds since the start of the recording, as in all events; 0 here.
        wall: Milliseconds since 1970 at the start.
        upstream: The name servers that were recorded.
        program: Name and version of the program that recorded.
        bodies: Whether bodies are recorded.
        secrets: Whether secrets are recorded.
    """

    time: int
    wall: int
    upstream: str
    program: str
    bodies: bool
    secrets: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOpened:
    """A client connected.

    Attributes:
        time: Microseconds since the start.
        connection: Its number, from 1 on.
        role: What it leads to.
        client: The client's address.
        server: The address that it leads to, as the endpoint registered it; of a VIP channel that port less 2.
    """

    time: int
    connection: int
    role: Role
    client: str
    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSent:
    """A whole frame passed.

    Attributes:
        time: Microseconds since the start.
        connection: The connection's number.
        source: Who sent it.
        left: What `data` lacks.
        size: Bytes of the frame as it was sent.
        data: The frame, its lengths fitting what is recorded of it.
    """

    time: int
    connection: int
    source: StreamSource
    left: CutParts
    size: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableBytes:
    """Bytes passed that are no frame, or one whose header cannot be read.

    Attributes:
        time: Microseconds since the start.
        connection: The connection's number.
        source: Who sent them.
        size: How many.
        data: The bytes; empty where secrets are not recorded, as there may be some in them.
    """

    time: int
    connection: int
    source: StreamSource
    size: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnded:
    """One side sends no more; the other may.

    Attributes:
        time: Microseconds since the start.
        connection: The connection's number.
        source: Who ended.
        reason: Why, where it is an error; else empty.
    """

    time: int
    connection: int
    source: StreamSource
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingStopped:
    """The last event of a recording that was stopped, and not cut off.

    Attributes:
        time: Microseconds since the start.
    """

    time: int


Event: TypeAlias = RecordingStarted | ConnectionOpened | FrameSent | UnreadableBytes | StreamEnded | RecordingStopped
