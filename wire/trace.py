"""Message traces: the bodies of messages in the trace topic, in which clients report what happened to a message.

Reports end with 0x02, their fields are separated by 0x01; the first field is the kind of the event. Clients since 4.4
write them; later versions append fields, so a short report is an old one. Java writes ``null`` for a missing text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from rocketwire.wire.errors import TraceInvalid

FIELD_SEP: Final = "\x01"
REPORT_SEP: Final = "\x02"

MESSAGE_TYPES: Final = ("normal", "half", "commit", "delay", "order")
"""Kinds of sent messages by their number; only 5.x knows the last."""
CONSUME_RESULTS: Final = ("success", "time-out", "exception", "null returned", "failed")
"""Results of consuming, by number."""

_SEND_FIELDS_WITH_OFFSET_ID: Final = 14
_CONTEXT_CODE_AT: Final = 6
_TIME_AT: Final = 7
_GROUP_AT: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SendTrace:
    """A producer sent a message; ``time`` in ms since 1970 is the beginning, ``cost`` the ms until the answer."""

    time: int
    region: str | None
    group: str | None
    topic: str | None
    message_id: str
    """The unique key; of a batch all of them, with commas between."""
    tags: str | None
    keys: str | None
    store_host: str | None
    body_length: int
    cost: int
    message_type: int
    """An index into ``MESSAGE_TYPES``."""
    offset_message_id: str | None
    success: bool
    client_host: str | None
    """The producer's own host, if it reports it; not all clients do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeBeginTrace:
    """A consumer passes a message to the application; ``request_id`` links it to the end of consuming."""

    time: int
    region: str | None
    group: str | None
    request_id: str
    message_id: str
    retry_times: int
    keys: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeEndTrace:
    """The application is done with a message after ``cost`` ms."""

    request_id: str
    message_id: str
    cost: int
    success: bool
    keys: str | None
    result: int | None
    """An index into ``CONSUME_RESULTS``; clients older than 4.4.1 may not tell."""
    time: int | None
    """Clients older than 4.6 do not tell when and for which group."""
    group: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionTrace:
    """A producer ended a transaction; ``state`` is ``COMMIT_MESSAGE``, ``ROLLBACK_MESSAGE`` or ``UNKNOW``."""

    time: int
    region: str | None
    group: str | None
    topic: str | None
    message_id: str
    tags: str | None
    keys: str | None
    store_host: str | None
    message_type: int
    transaction_id: str | None
    state: str | None
    from_check: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallTrace:
    """A producer of 5.x recalled a message that was to be delivered later."""

    time: int
    region: str | None
    group: str | None
    topic: str | None
    message_id: str
    success: bool


Trace: TypeAlias = SendTrace | ConsumeBeginTrace | ConsumeEndTrace | EndTransactionTrace | RecallTrace


def decode_traces(body: bytes) -> list[Trace]:
    """Read the reports in the body of a trace message; those of unknown kinds are skipped.

    Raises:
        TraceInvalid: a report has too few fields, or a text where a number belongs.
    """
    found: list[Trace] = []
    for report in body.decode("utf-8", "replace").split(REPORT_SEP):
        kind, *fields = report.split(FIELD_SEP)
        read = _READERS.get(kind)
        if read is None:
            continue
        try:
            found.append(read(report.split(FIELD_SEP)))
        except (IndexError, ValueError) as error:
            raise TraceInvalid(f"the trace {kind} with {len(fields)} fields cannot be read: {error}") from error
    return found


def _send(at: list[str]) -> SendTrace:
    with_offset_id = len(at) >= _SEND_FIELDS_WITH_OFFSET_ID
    return SendTrace(
        time=int(at[1]),
        region=_text(at[2]),
        group=_text(at[3]),
        topic=_text(at[4]),
        message_id=at[5],
        tags=_text(at[6]),
        keys=_text(at[7]),
        store_host=_text(at[8]),
        body_length=int(at[9]),
        cost=int(at[10]),
        message_type=int(at[11]),
        offset_message_id=_text(at[12]) if with_offset_id else None,
        success=_bool(at[13] if with_offset_id else at[12]),
        client_host=_text(at[14]) if len(at) > _SEND_FIELDS_WITH_OFFSET_ID else None,
    )


def _begin(at: list[str]) -> ConsumeBeginTrace:
    return ConsumeBeginTrace(
        time=int(at[1]),
        region=_text(at[2]),
        group=_text(at[3]),
        request_id=at[4],
        message_id=at[5],
        retry_times=int(at[6]),
        keys=_text(at[7]),
    )


def _end(at: list[str]) -> ConsumeEndTrace:
    return ConsumeEndTrace(
        request_id=at[1],
        message_id=at[2],
        cost=int(at[3]),
        success=_bool(at[4]),
        keys=_text(at[5]),
        result=int(at[_CONTEXT_CODE_AT]) if len(at) > _CONTEXT_CODE_AT else None,
        time=int(at[_TIME_AT]) if len(at) > _GROUP_AT else None,
        group=_text(at[_GROUP_AT]) if len(at) > _GROUP_AT else None,
    )


def _end_transaction(at: list[str]) -> EndTransactionTrace:
    return EndTransactionTrace(
        time=int(at[1]),
        region=_text(at[2]),
        group=_text(at[3]),
        topic=_text(at[4]),
        message_id=at[5],
        tags=_text(at[6]),
        keys=_text(at[7]),
        store_host=_text(at[8]),
        message_type=int(at[9]),
        transaction_id=_text(at[10]),
        state=_text(at[11]),
        from_check=_bool(at[12]),
    )


def _recall(at: list[str]) -> RecallTrace:
    return RecallTrace(
        time=int(at[1]),
        region=_text(at[2]),
        group=_text(at[3]),
        topic=_text(at[4]),
        message_id=at[5],
        success=_bool(at[6]),
    )


_READERS: Final[dict[str, Callable[[list[str]], Trace]]] = {
    "Pub": _send,
    "SubBefore": _begin,
    "SubAfter": _end,
    "EndTransaction": _end_transaction,
    "Recall": _recall,
}


def _text(field: str) -> str | None:
    return None if field in {"", "null"} else field


def _bool(field: str) -> bool:
    return field.lower() == "true"
