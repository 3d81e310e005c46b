"""Times, ms since 1970, as texts: always UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from rocketwire.cli.errors import CommandError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: A number of so many digits is a date: 20260131.
_DATE_DIGITS = 8
_YEAR_DIGITS = 4
#: Numbers of ms have so many digits: fewer would be times in the first months of 1970, or seconds; more do not fit
#: 64 bits.
_MS_DIGITS = range(11, 19)
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


TIME_FORMS = "ISO 8601 (2026-01-31T09:30:00+01:00), or ms since 1970 (11 digits at least)"
"""What `parsed` takes, for errors."""


def parsed(option: str, text: str, *, expected: str = TIME_FORMS) -> int:
    """The time of an option: ISO 8601, in UTC if it names no zone, or ms since 1970 of 11 digits at least.

    Args:
        option: The option, for the error.
        text: Its value.
        expected: What the option takes, for the error.

    Raises:
        Mistake: it is neither.
    """
    is_number = text.isascii() and text.isdigit()
    if is_number and len(text) in _MS_DIGITS:
        return int(text)
    wrong = CommandError(f"{option} {text}: expected {expected}")
    if is_number and len(text) not in (_YEAR_DIGITS, _DATE_DIGITS):
        raise wrong
    try:
        moment = datetime.fromisoformat(f"{text}-01-01" if is_number and len(text) == _YEAR_DIGITS else text)
    except ValueError:
        raise wrong from None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND
