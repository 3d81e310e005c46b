"""What a fault rule says, as values: which requests it strikes, and what becomes of one that is struck."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, TypeAlias

from rocketwire.wire.codes import RequestCode

ALWAYS: Final = 1_000_000
"""The rate of a rule that strikes every request it is for: rates are millionths."""
LONGEST_DELAY_MS: Final = 600_000
MOST_RULES: Final = 1000

OWN_CODES: Final = frozenset(
    {
        RequestCode.CHECK_TRANSACTION_STATE,
        RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
        RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
    }
)
"""Requests that only the server sends, to clients: struck by rules that name their code, and by no other.

307 and 309, which the broker hands on, are struck where they come in.
"""


class Part(StrEnum):
    """Which of the two is struck: the request, before it is handled, or its answer."""

    REQUEST = "request"
    ANSWER = "answer"


class Spot(StrEnum):
    """Which bytes of a frame are spoiled."""

    HEADER = "header"
    BODY = "body"
    LENGTH = "length"


class ListenerName(StrEnum):
    """Who a request was sent to."""

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
    """The request is handled, or its answer sent, so many ms later: each time as many as chance picks of the range."""

    NAME: ClassVar = "delay"
    shortest: int
    longest: int
    part: Part = Part.REQUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The request is not handled, or it is and its answer is not sent."""

    NAME: ClassVar = "drop"
    part: Part = Part.REQUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    """The connection is closed in place of handling the request, or of answering it."""

    NAME: ClassVar = "disconnect"
    part: Part = Part.REQUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """The request is handled and answered twice, or its one answer is sent twice."""

    NAME: ClassVar = "duplicate"
    part: Part = Part.REQUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrupt:
    """One byte of the answer is another one; which, chance decides."""

    NAME: ClassVar = "corrupt"
    spot: Spot = Spot.HEADER


Action: TypeAlias = AnswerWith | Delay | Drop | Disconnect | Duplicate | Corrupt

UNDELAYED: Final = "undelayed"
"""What metrics count requests and answers under that were to be delayed when too many others were."""
COUNTED: Final = (*(each.NAME for each in (AnswerWith, Delay, Drop, Disconnect, Duplicate, Corrupt)), UNDELAYED)
"""All that faults are counted under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: its action strikes requests that meet all its conditions.

    Attributes:
        codes: Request codes; empty: all that clients send.
        group: The producer or consumer group; None: any, and requests without one.
        topic: The same of topics.
        listener: Who is asked; None: either.
        rate: How many in a million of the requests are struck.
        count: How many are struck at most; None: without end.
    """

    action: Action
    codes: tuple[int, ...] = ()
    group: str | None = None
    topic: str | None = None
    listener: ListenerName | None = None
    rate: int = ALWAYS
    count: int | None = None
