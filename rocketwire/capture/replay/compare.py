"""Comparing the answer of an endpoint with the recorded one, field by field.

Two answers to the same request may differ in times, ids, addresses and places in the log. Such a field is masked by its
name, or parts of its text by their form: only its presence is compared then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rocketwire.capture.contents.bodies import RECORDS, body_value
from rocketwire.capture.contents.frames import RecordedFrame, response_name
from rocketwire.capture.file.events import CutParts
from rocketwire.wire.header import Header

TIMES: Final = re.compile(r"(time|timestamp)(millis|ms)?$", re.IGNORECASE)
"""Names of times."""
IDS: Final = re.compile(
    r"^(msgId|offsetMsgId|transactionId|recallHandle|physicalOffset|commitLogOffset|preparedTransactionOffset"
    r"|indexLastUpdatePhyoffset|ORIGIN_MESSAGE_ID)$"
)
"""Names of ids that a broker makes, and of places in its log, which some of them consist of."""
ADDRESSES: Final = re.compile(r"^(bornHost|storeHost|brokerAddr|brokerAddrs|addr|clientAddr|listenPort|haListenPort)$")
"""Names of addresses, and of objects of them."""
VERSIONS: Final = re.compile("^dataVersion$")
"""Names of versions of tables, which consist of a time and a count of changes."""

_TEXTS: Final = (
    (re.compile(r"(\d{1,3}\.){3}\d{1,3}:\d{1,5}|\[[0-9a-fA-F:.]+\]:\d{1,5}"), "<address>"),
    (re.compile(r"\b1[5-9]\d{11}\b"), "<time>"),
    (re.compile(r"\b(19|20)\d\d-\d\d-\d\d[ T#]\d\d:\d\d:\d\d([.,:]\d+)?"), "<time>"),
)
_BY_NAME: Final = ((TIMES, "<time>"), (IDS, "<id>"), (ADDRESSES, "<address>"), (VERSIONS, "<version>"))
_AS_SENT: Final = frozenset({"body", "properties"})
"""Members of message records, which applications made; texts in them are compared as they are."""


def masked(value: Any, *, of_message: bool = False) -> Any:  # noqa: ANN401 - any JSON value
    """A value with masks; lists of JSON get an order, since RocketMQ's are mostly sets.

    Args:
        value: The content of a body or of the extension fields.
        of_message: Whether it is a list of message records, whose order counts.
    """
    if isinstance(value, dict):
        return {str(name): _member(str(name), item, of_message=of_message) for name, item in value.items()}
    if isinstance(value, list):
        items = [masked(item, of_message=of_message) for item in value]
        return items if of_message else sorted(items, key=repr)
    return masked_text(value) if isinstance(value, str) else value


def _member(name: str, item: Any, *, of_message: bool) -> Any:  # noqa: ANN401 - JSON
    for pattern, mask in _BY_NAME:
        if pattern.search(name):
            return mask
    if of_message and name in _AS_SENT:
        return (
            {key: _member(key, each, of_message=False) for key, each in item.items()} if name == "properties" else item
        )
    return masked(item, of_message=of_message)


def masked_text(text: str) -> str:
    """A text with masks for the addresses and times in it."""
    for pattern, mask in _TEXTS:
        text = pattern.sub(mask, text)
    return text


ABSENT: Final = "(absent)"
"""Stands for a field that one of two answers lacks."""


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """A field in which two answers differ.

    Attributes:
        frame: The number of the recorded frame.
        connection: The number of its connection.
        request: The name of the request's code.
        field: The field, as `code`, `fields.queueOffset` or `body[0].topic`.
        recorded: Its recorded value.
        replayed: Its value now.
    """

    frame: int
    connection: int
    request: str
    field: str
    recorded: Any
    replayed: Any


def differences(recorded: RecordedFrame, header: Header, body: bytes) -> Iterator[AnswerDifference]:
    """The fields in which an answer differs from the recorded one; where no body is recorded, those of the header."""
    for field, before, now in _all(recorded, header, body):
        yield AnswerDifference(recorded.number, recorded.sent.connection, recorded.code_name, field, before, now)


def _all(recorded: RecordedFrame, header: Header, body: bytes) -> Iterator[tuple[str, Any, Any]]:
    before = recorded.header
    if before.code != header.code:
        yield "code", response_name(before.code), response_name(header.code)
    if masked_text(before.remark or "") != masked_text(header.remark or ""):
        yield "remark", before.remark or ABSENT, header.remark or ABSENT
    yield from _different("fields", masked(before.ext or {}), masked(header.ext or {}))
    if not recorded.sent.left & CutParts.BODY:
        code = recorded.code
        values = (_body(each, code) for each in (recorded.body, body))
        yield from _different("body", *values)


def _body(body: bytes, code: int) -> Any:  # noqa: ANN401 - any JSON value
    value = body_value(body, code, response=True)
    return masked(value, of_message=code in RECORDS)


def _different(path: str, before: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401 - JSON
    if before == now and type(before) is type(now):
        return
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted(before.keys() | now.keys()):
            yield from _different(f"{path}.{name}", before.get(name, ABSENT), now.get(name, ABSENT))
    elif isinstance(before, list) and isinstance(now, list):
        for number in range(max(len(before), len(now))):
            sides = (each[number] if number < len(each) else ABSENT for each in (before, now))
            yield from _different(f"{path}[{number}]", *sides)
    else:
        yield path, before, now
