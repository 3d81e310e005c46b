"""The messages that a command sends: from lines of stdin, from JSON lines or CSV, no faster than so many a second."""

from __future__ import annotations

import base64
import binascii
import csv
import io
import os
import re
import select
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, Final, TypeVar

import msgspec

from rocketwire.cli.errors import CommandError
from rocketwire.cli.message.targets import OutgoingMessage
from rocketwire.wire.facts import properties as names

_READ: Final = 1 << 18
_PAUSE_SECONDS: Final = 0.02


def lines(stream: IO[bytes] | None = None) -> Iterator[bytes | None]:
    """The lines of a stream, by default stdin, without their line feeds; None whenever no line comes for a while."""
    source = sys.stdin.buffer if stream is None else stream
    try:
        descriptor = source.fileno()
    except (AttributeError, io.UnsupportedOperation):
        for line in source:
            yield line.rstrip(b"\n")
        return
    rest = b""
    paused = False
    while True:
        # Files are always ready.
        if not select.select([descriptor], [], [], None if paused else _PAUSE_SECONDS)[0]:
            paused = True
            yield None
            continue
        paused = False
        data = os.read(descriptor, _READ)
        if not data:
            break
        *whole, rest = (rest + data).split(b"\n")
        yield from whole
    if rest:
        yield rest


T = TypeVar("T")
_RATE: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(?:/(s|m|h))?")
_SECONDS: Final = {None: 1, "s": 1, "m": 60, "h": 3600}
_WORTH_A_PAUSE: Final = 0.01


def rate(option: str, text: str) -> float:
    """Messages a second, from `100`, `100/s`, `30/m` or `1/h`.

    Raises:
        Mistake: the text is none of these.
    """
    match = _RATE.fullmatch(text)
    if match is None or float(match[1]) == 0:
        raise CommandError(f"{option} {text}: expected a number of messages a second, or such as 30/m or 1/h")
    return float(match[1]) / _SECONDS[match[2]]


def paced(messages: Iterable[T | None], per_second: float) -> Iterator[T | None]:
    """The messages, each when it is due; None before a longer wait."""
    began, count = time.monotonic(), 0
    for each in messages:
        if each is not None:
            ahead = began + count / per_second - time.monotonic()
            count += 1
            if ahead > _WORTH_A_PAUSE:
                yield None
                time.sleep(max(0.0, began + (count - 1) / per_second - time.monotonic()))
        yield each


_BROKERS_OWN: Final = frozenset(
    {
        names.DELAY,
        names.RETRY_TOPIC,
        names.REAL_TOPIC,
        names.REAL_QUEUE_ID,
        names.TRANSACTION_PREPARED,
        names.TRANSACTION_PREPARED_QUEUE_OFFSET,
        names.TRANSACTION_CHECK_TIMES,
        names.PRODUCER_GROUP,
        names.MIN_OFFSET,
        names.MAX_OFFSET,
        names.RECONSUME_TIME,
        names.MAX_RECONSUME_TIMES,
        names.CONSUME_START_TIME,
        names.MSG_REGION,
        names.TRACE_ON,
        names.CLUSTER,
        names.INNER_MULTI_DISPATCH,
        names.INNER_MULTI_QUEUE_OFFSET,
        names.TIMER_DELAY_SEC,
        names.TIMER_DELAY_MS,
        names.TIMER_DELIVER_MS,
        names.TIMER_ENQUEUE_MS,
        names.TIMER_DEQUEUE_MS,
        names.TIMER_ROLL_TIMES,
        names.TIMER_OUT_MS,
        names.TIMER_DEL_UNIQ_KEY,
        names.START_DELIVER_TIME,
    }
)
"""Properties about one copy of a message: its delay, transaction, retries and place; a new copy does not get them."""


def copied_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a message that a copy has too: its id, tag, keys and the application's own."""
    return {name: value for name, value in properties.items() if name not in _BROKERS_OWN}


def from_json(line: bytes, topic: str | None, place: str) -> OutgoingMessage:
    """The message of a JSON object.

    `body` or `body_base64` is needed, and `topic` unless one is given; `tags`, `keys`, `properties`, `flag` and
    `queue_id` may be there, and all else is ignored.

    Args:
        line: The object.
        topic: The topic to send it to; None for the object's own.
        place: Where the line is, for the error.

    Raises:
        Mistake: the line is no such object.
    """
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise CommandError(f"{place}: no JSON object: {error}") from error
    if not isinstance(found, dict):
        raise CommandError(f"{place}: no JSON object")
    return _message(found, topic, place)


def from_csv(text: io.TextIOBase, topic: str | None, source: str) -> Iterator[OutgoingMessage]:
    """The messages of a CSV file with the columns that `message export` writes.

    Raises:
        Mistake: a row is no message.
    """
    rows = csv.DictReader(text)
    for number, row in enumerate(rows, 2):
        place = f"{source}, row {number}"
        found: dict[str, Any] = {name: value for name, value in row.items() if name and value}
        if not found.get("body_base64"):
            found["body"] = row.get("body")
        found["keys"] = found.get("keys", "").split()
        try:
            found["properties"] = msgspec.json.decode(found.get("properties", "{}"))
            for name in ("flag", "queue_id"):
                if name in found:
                    found[name] = int(found[name])
        except (ValueError, msgspec.DecodeError) as error:
            raise CommandError(f"{place}: {error}") from error
        yield _message(found, topic, place)


def _message(found: dict[str, Any], topic: str | None, place: str) -> OutgoingMessage:
    def typed(name: str, kind: type, default: Any = None) -> Any:  # noqa: ANN401 - of JSON
        value = found.get(name)
        if value is None:
            return default
        if not isinstance(value, kind) or isinstance(value, bool):
            raise CommandError(f"{place}: {name} is wrong")
        return value

    target = topic or typed("topic", str)
    if not target:
        raise CommandError(f"{place}: there is no topic")
    properties = typed("properties", dict, {})
    keys = typed("keys", list, [])
    if not all(isinstance(each, str) for each in (*properties, *properties.values(), *keys)):
        raise CommandError(f"{place}: keys and properties must be texts")
    made = copied_properties(properties)
    if tags := typed("tags", str):
        made[names.TAGS] = tags
    if keys:
        made[names.KEYS] = names.KEY_SEP.join(keys)
    return OutgoingMessage(
        topic=target,
        body=_body(typed("body", str), typed("body_base64", str), place),
        properties=made,
        flag=typed("flag", int, 0),
        queue_id=typed("queue_id", int),
    )


def _body(text: str | None, encoded: str | None, place: str) -> bytes:
    if encoded is not None:
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error as error:
            raise CommandError(f"{place}: body_base64: {error}") from error
    if text is None:
        raise CommandError(f"{place}: there is no body")
    return text.encode("utf-8", "surrogatepass")
