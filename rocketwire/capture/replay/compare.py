"""Comparing the answer of an endpoint with the recorded one, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rocketwire.capture.contents.bodies import RECORDS, body_value
from rocketwire.capture.contents.frames import RecordedFrame, response_name
from rocketwire.capture.file.events import CutParts
from rocketwire.capture.replay.masks import masked, masked_text
from rocketwire.wire.header import Header

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


def _body(body: bytes, code: int) -> Any:  # noqa: ANN401 - whatever JSON can say
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
