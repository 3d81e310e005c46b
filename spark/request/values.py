"""Converts the texts of options to values. OptionInvalid names the option of an invalid text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any, Final, NoReturn

from rocketwire.spark.errors import OptionInvalid
from rocketwire.wire.java import INT32_MAX, INT64_MAX, parse_natural_number

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
#: A number of fewer digits is not meant as ms: it is a date, or seconds.
_MS_DIGITS: Final = 11
#: Characters of a value that an error shows.
_SHOWN: Final = 300
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
#: As in Spark's Kafka source.
EARLIEST, LATEST = -2, -1
#: Queue offsets by topic and queue, of each broker that is named; None stands for the only one, or for all.
RequestedOffsets = dict[str | None, dict[str, dict[int, int]]]


def invalid(option: str, text: object, remedy: str) -> NoReturn:
    """Raise the error for an invalid value of an option.

    Raises:
        OptionInvalid: always.
    """
    raise OptionInvalid(f"option {option} cannot be {str(text)[:_SHOWN]!r}", remedy)


def text_of(options: Mapping[str, str], option: str) -> str | None:
    """The text of an option, however its name is capitalised; None: it is not given."""
    return next((text for name, text in options.items() if name.lower() == option.lower()), None)


def nearest(name: str, known: Sequence[str]) -> str:
    """Similar known names, as the beginning of a remedy; empty if none is similar."""
    lower = {one.lower(): one for one in known}
    found = get_close_matches(name.lower(), list(lower), n=1)
    return f"Did you mean {lower[found[0]]}? " if found else ""


def words(option: str, text: str) -> tuple[str, ...]:
    """Split at commas; each value may occur once.

    Raises:
        OptionInvalid: the list is empty, or has a value twice.
    """
    found = tuple(word.strip() for word in text.split(","))
    if not all(found) or len(set(found)) < len(found):
        invalid(option, text, "Name one or more, with a comma between two, each once")
    return found


def boolean(option: str, text: str) -> bool:
    """True or false.

    Raises:
        OptionInvalid: it is neither.
    """
    if text.strip().lower() not in ("true", "false"):
        invalid(option, text, "It is true or false")
    return text.strip().lower() == "true"


def whole(option: str, text: str, *, least: int = 0, most: int = INT64_MAX) -> int:
    """A whole number.

    Raises:
        OptionInvalid: it is none, or out of bounds.
    """
    number = parse_natural_number(text.strip(), most)
    if number is None or number < least:
        invalid(option, text, f"It is a whole number from {least} to {most}")
    return number


def size(option: str, text: str) -> int:
    """A number of bytes, of KiB with a k behind it, and so on: 134217728, 128m, 128 MiB, 1g.

    Raises:
        OptionInvalid: it is none, or 0.
    """
    stripped = text.strip().lower()
    digits = stripped.rstrip("bikmgt ")
    number = parse_natural_number(digits)
    unit = stripped[len(digits) :].strip().removesuffix("b").removesuffix("i")
    if not number or unit not in _UNITS:
        invalid(option, text, "It is a number of bytes, or one like 512k, 128m or 1g")
    return number * _UNITS[unit]


def moment(option: str, text: str) -> int:
    """A time in ms since 1970, given so or as ISO 8601, in UTC if that names no zone.

    Raises:
        OptionInvalid: it is neither.
    """
    stripped = text.strip()
    if len(stripped) >= _MS_DIGITS:
        number = parse_natural_number(stripped)
        if number is not None:
            return number
    try:
        found = datetime.fromisoformat(stripped)
        return ((found if found.tzinfo else found.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        invalid(option, text, "It is ISO 8601, as 2026-01-31T09:30:00+01:00, or ms since 1970 (11 digits at least)")


def offsets(option: str, text: str) -> str | RequestedOffsets:
    """`earliest`, `latest`, or JSON: {topic: {queue: offset}}, of several brokers {broker: {topic: {queue: offset}}}.

    An offset of -2 stands for the earliest, -1 for the latest.

    Raises:
        OptionInvalid: it is none of these.
    """
    stripped = text.strip()
    if stripped.lower() in ("earliest", "latest"):
        return stripped.lower()
    remedy = (
        'It is earliest, latest, or JSON like {"Orders": {"0": 100, "1": 250}}, of several stores one for each broker'
    )
    try:
        found = json.loads(stripped)
        by_queue = [queues for topics in _tables(found) for queues in _tables(topics)]
        if any(isinstance(value, dict) for value in by_queue):
            return {broker: {t: _queues(q) for t, q in topics.items()} for broker, topics in found.items()}
        return {None: {topic: _queues(queues) for topic, queues in found.items()}}
    except (ValueError, TypeError, AttributeError, RecursionError):
        invalid(option, text, remedy)


def _tables(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else []


def _queues(queues: Mapping[str, Any]) -> dict[int, int]:
    found: dict[int, int] = {}
    for queue_id, offset in queues.items():
        number = parse_natural_number(queue_id, INT32_MAX)
        if number is None or isinstance(offset, bool) or not isinstance(offset, int):
            raise TypeError
        if not EARLIEST <= offset <= INT64_MAX:
            raise ValueError
        found[number] = offset
    return found


def names_of_brokers(option: str, text: str) -> dict[str, str]:
    """JSON that gives paths of stores the names of their brokers.

    Raises:
        OptionInvalid: it is none, or gives two the same name.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(name, str) and name for name in found.values()):
        invalid(option, text, 'It is JSON like {"/data/a": "broker-a", "/data/b": "broker-b"}')
    if len(set(found.values())) < len(found):
        invalid(option, text, "Give each store a name of its own")
    return found
