"""Fault rules as values: the conditions that match requests, and the action on a matched one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, TypeAlias

from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.frame import FRAME_PREFIX, HEADER_LENGTH_MASK, LENGTH_SIZE

ALWAYS: Final = 1_000_000
"""The rate of a rule that applies to every request that meets its conditions: rates are millionths."""
LONGEST_DELAY_MS: Final = 600_000
MOST_RULES: Final = 1000
REMARK: Final = "a fault rule of this endpoint says so"
"""The remark of an answer by a rule that gives none."""

OWN_CODES: Final = frozenset(
    {
        RequestCode.CHECK_TRANSACTION_STATE,
        RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
        RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
    }
)
"""Requests that only the server sends, to clients: matched only by rules that name their code.

307 and 309, which the broker forwards, are matched where they come in.
"""


class FaultPart(StrEnum):
    """What the fault applies to: the request, before it is handled, or its answer."""

    REQUEST = "request"
    ANSWER = "answer"


class CorruptedPart(StrEnum):
    """Which bytes of a frame are corrupted."""

    HEADER = "header"
    BODY = "body"
    LENGTH = "length"


class ListenerName(StrEnum):
    """The listener that receives a request."""

    BROKER = "broker"
    NAME_SERVER = "namesrv"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWith:
    """The request is not handled; its answer has this code and remark."""

    NAME: ClassVar = "answer"
    code: int
    remark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """The request is handled, or its answer sent, after a delay in ms, drawn from the range each time."""

    NAME: ClassVar = "delay"
    shortest: int
    longest: int
    part: FaultPart = FaultPart.REQUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The request is not handled, or it is and its answer is not sent."""

    NAME: ClassVar = "drop"
    part: FaultPart = FaultPart.REQUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    """The connection is closed instead of handling the request, or of answering it."""

    NAME: ClassVar = "disconnect"
    part: FaultPart = FaultPart.REQUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """The request is handled and answered twice, or its one answer is sent twice."""

    NAME: ClassVar = "duplicate"
    part: FaultPart = FaultPart.REQUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrupt:
    """One randomly chosen byte of the answer is changed."""

    NAME: ClassVar = "corrupt"
    spot: CorruptedPart = CorruptedPart.HEADER


Action: TypeAlias = AnswerWith | Delay | Drop | Disconnect | Duplicate | Corrupt

UNDELAYED: Final = "undelayed"
"""The metrics label of requests and answers that were not delayed because the queue was full."""
COUNTED: Final = (*(each.NAME for each in (AnswerWith, Delay, Drop, Disconnect, Duplicate, Corrupt)), UNDELAYED)
"""All metrics labels of faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: its action applies to requests that meet all its conditions.

    Attributes:
        codes: Request codes; empty: all that clients send.
        group: The producer or consumer group; None: any, and requests without one.
        topic: The topic; None: any, and requests without one.
        listener: The listener that receives the request; None: either.
        rate: How many in a million of the requests that meet the conditions match.
        count: How many requests match at most; None: no limit.
    """

    action: Action
    codes: tuple[int, ...] = ()
    group: str | None = None
    topic: str | None = None
    listener: ListenerName | None = None
    rate: int = ALWAYS
    count: int | None = None


_OTHER_BYTES = 255


def corrupt_frame(frame: bytes, spot: CorruptedPart, choose: Callable[[int], int]) -> bytes:
    """Change one byte of a frame's header, body or length; a frame that lacks the body is returned unchanged.

    Args:
        frame: The whole frame.
        spot: Which bytes may change. The length is the first word of the frame.
        choose: Returns a random number below its argument, uniformly.
    """
    body_at = FRAME_PREFIX.size + (FRAME_PREFIX.unpack_from(frame)[1] & HEADER_LENGTH_MASK)
    low, high = {
        CorruptedPart.HEADER: (FRAME_PREFIX.size, body_at),
        CorruptedPart.BODY: (body_at, len(frame)),
        CorruptedPart.LENGTH: (0, LENGTH_SIZE),
    }[spot]
    if low == high:
        return frame
    changed = bytearray(frame)
    changed[low + choose(high - low)] ^= 1 + choose(_OTHER_BYTES)
    return bytes(changed)
