"""Times of the store, ms since 1970, as texts: always UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from rocketwire.cli.mistake import Mistake

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: A number of so many digits is a date: 20260131.
_DATE_DIGITS = 8
_MILLISECOND = timedelta(milliseconds=1)


def shown(milliseconds: int | None) -> str:
    """A time as `2026-01-31 09:30:00.123`; empty for None, the plain number for one that no calendar has."""
    if milliseconds is None:
        return ""
    try:
        moment = _EPOCH + milliseconds * _MILLISECOND
    except OverflowError:
        return str(milliseconds)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03d}"


def parsed(option: str, text: str) -> int:
    """The time of an option: ISO 8601, in UTC if it names no zone, or ms since 1970.

    Raises:
        Mistake: it is neither.
    """
    if text.isascii() and text.isdigit() and len(text) != _DATE_DIGITS:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Mistake(f"{option} {text}: allowed is ISO 8601 (2026-01-31T09:30:00+01:00) or ms since 1970") from None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND
