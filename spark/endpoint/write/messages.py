"""Makes messages of rows. Invalid rows are found before any row of their batch is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from rocketwire.remoting.core.outgoing import UniqueIds
from rocketwire.spark.errors import RowInvalid
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.java import INT32_MAX, INT32_MIN
from rocketwire.wire.names import forbidden_send_reason, topic_name_error


class RowMessage(NamedTuple):
    """The message of a row.

    Attributes:
        topic: Its topic.
        queue_id: The queue that the row names; None when it names none.
        is_delayed: Whether it is delivered later: it is sent alone.
        body: Its body.
        properties: Its encoded properties.
        flag: Its flag.
    """

    topic: str
    queue_id: int | None
    is_delayed: bool
    body: bytes
    properties: bytes
    flag: int


def messages_of(rows: pa.RecordBatch, *, topic: str | None, most: int, ids: UniqueIds) -> list[RowMessage]:
    """The messages of some rows, in their order.

    Args:
        rows: Columns as `columns.check` lets them pass.
        topic: Of rows that name none.
        most: Bytes of the largest body.
        ids: Makes their ids.

    Raises:
        RowInvalid: a row cannot be sent.
    """
    return [_message(row, topic, most, ids) for row in rows.to_pylist()]


def _message(row: Mapping[str, Any], topic: str | None, most: int, ids: UniqueIds) -> RowMessage:
    topic, body = _topic(row.get("topic"), topic), _body(row["body"], most)
    queue_id = _whole(row, "queue_id", missing=-1)
    delay = _whole(row, "delay_level", missing=0)
    flag = _whole(row, "flag", missing=0, least=INT32_MIN)
    own = [
        (names.UNIQ_KEY, ids.next()),
        (names.TAGS, _words(row.get("tags"), "tags")),
        (names.KEYS, _words(row.get("keys"), "keys")),
        (names.DELAY, str(delay) if delay else ""),
    ]
    items = [*own, *_others(row.get("properties") or ())]
    properties = names.ITEM_SEP.join(f"{name}{names.NAME_SEP}{value}" for name, value in items if value).encode()
    if len(properties) > MAX_PROPERTIES_LENGTH:
        raise RowInvalid(
            f"a row's tags, keys and properties take {len(properties)} bytes, and {MAX_PROPERTIES_LENGTH} are allowed",
            "Shorten them, or put them into the body",
        )
    return RowMessage(topic, None if queue_id < 0 else queue_id, delay > 0, body, properties, flag)


def _topic(given: str | None, otherwise: str | None) -> str:
    topic = otherwise if given is None else given
    if topic is None:
        raise RowInvalid("a row has no topic", "Fill the column topic, or give the option topic")
    problem = topic_name_error(topic) or forbidden_send_reason(topic)
    if problem is not None:
        raise RowInvalid(f"messages cannot be sent to the topic {topic[:200]!r}: {problem}", "Rename the topic")
    return topic


def _body(given: bytes | str | None, most: int) -> bytes:
    if given is None:
        raise RowInvalid("a row has no body", "Filter such rows out, or fill the column body")
    body = given.encode() if isinstance(given, str) else given
    if not body:
        raise RowInvalid("a row has a body of 0 bytes, which RocketMQ's clients do not send", "Filter such rows out")
    if len(body) > most:
        raise RowInvalid(
            f"a row has a body of {len(body)} bytes, and {most} are allowed",
            "Where the broker's maxMessageSize allows more, so may the option maxMessageSize",
        )
    return body


def _whole(row: Mapping[str, Any], name: str, *, missing: int, least: int = 0) -> int:
    found: int | None = row.get(name)
    if found is None:
        return missing
    if not least <= found <= INT32_MAX:
        raise RowInvalid(f"a row has {found} in the column {name}", f"It is null, or from {least} to {INT32_MAX}")
    return found


def _words(given: str | list[str | None] | None, column: str) -> str:
    """Tags or keys as one text; empty where there are none."""
    text = names.KEY_SEP.join(filter(None, given)) if isinstance(given, list) else given or ""
    return _without_separators(text, column)


def _others(given: Iterable[tuple[str, str | None]]) -> Iterator[tuple[str, str]]:
    """A row's own properties."""
    for name, value in given:
        if name and value and name not in names.OWN_NAMES:
            yield _without_separators(name, "properties"), _without_separators(value, "properties")


def _without_separators(text: str, column: str) -> str:
    if names.NAME_SEP in text or names.ITEM_SEP in text:
        raise RowInvalid(
            f"the column {column} has a text with 0x01 or 0x02, which separate properties: {text[:100]!r}",
            "Replace them",
        )
    return text
