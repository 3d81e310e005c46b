"""Message traces: the bodies of messages in the trace topic, in which clients report what happened to a message.

Reports end with 0x02, their fields are separated by 0x01; the first field is the kind of the event. Clients since 4.4
write them; later versions append fields, so a short report is an old one. Java writes ``null`` for a missing text.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias

from rocketwire.wire.errors import TraceInvalid

FIELD_SEP: Final = "\x01"
REPORT_SEP: Final = "\x02"

MESSAGE_TYPES: Final = ("normal", "half", "commit", "delay", "order")
"""Kinds of sent messages by their number; only 5.x knows the last."""
CONSUME_RESULTS: Final = ("success", "time-out", "exception", "null returned", "failed")
"""Results of consuming, by number."""

_SEND_FIELDS_WITH_OFFSET_ID: Final = 13
_OFFSET_ID_AT: Final = 11


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
    client_host: str | None = None
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
    result: int | None = None
    """An index into ``CONSUME_RESULTS``; clients older than 4.4.1 may not send it."""
    time: int | None = None
    """Clients older than 4.6 send neither time nor group."""
    group: str | None = None


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
        kind, *given = report.split(FIELD_SEP)
        trace = _KINDS.get(kind)
        if trace is None:
            continue
        short = trace is SendTrace and len(given) < _SEND_FIELDS_WITH_OFFSET_ID
        texts = [*given[:_OFFSET_ID_AT], "", *given[_OFFSET_ID_AT:]] if short else given
        try:
            found.append(trace(**{name: read(text) for (name, read), text in zip(_FIELDS[trace], texts, strict=False)}))
        except (TypeError, ValueError) as error:
            raise TraceInvalid(f"the trace {kind} with {len(given)} fields cannot be read: {error}") from error
    return found


def _text(field: str) -> str | None:
    return None if field in {"", "null"} else field


def _bool(field: str) -> bool:
    return field.lower() == "true"


_READERS: Final[dict[object, Callable[[str], Any]]] = {
    int: int,
    int | None: int,
    str: str,
    str | None: _text,
    bool: _bool,
}
_KINDS: Final[dict[str, type[Trace]]] = {
    "Pub": SendTrace,
    "SubBefore": ConsumeBeginTrace,
    "SubAfter": ConsumeEndTrace,
    "EndTransaction": EndTransactionTrace,
    "Recall": RecallTrace,
}
_FIELDS: Final = {trace: [(field.name, _READERS[field.type]) for field in fields(trace)] for trace in _KINDS.values()}
