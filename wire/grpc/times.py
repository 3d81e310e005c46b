"""Times of calls in milliseconds: protobuf's Duration and Timestamp, and the header `grpc-timeout`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from rocketwire.wire.grpc.codes import CallInvalid, Code

_MS_OF_SECOND: Final = 1000
_NANOS_OF_MS: Final = 1_000_000
_NANOS_OF_SECOND: Final = 1_000_000_000
_MOST_SECONDS: Final = 315_576_000_000  # 10,000 years, protobuf's own limit of a duration
_FIRST_SECOND: Final = -62_135_596_800  # 0001-01-01
_LAST_SECOND: Final = 253_402_300_799  # 9999-12-31
_LAST_MS: Final = _LAST_SECOND * _MS_OF_SECOND + _MS_OF_SECOND - 1
_TIMEOUT: Final = re.compile(r"([0-9]{1,8})([HMSmun])", re.ASCII)
_NANOS_OF_UNITS: Final = {
    "H": 3600 * _NANOS_OF_SECOND,
    "M": 60 * _NANOS_OF_SECOND,
    "S": _NANOS_OF_SECOND,
    "m": _NANOS_OF_MS,
    "u": 1000,
    "n": 1,
}


def duration_ms(duration: Duration) -> int:
    """The milliseconds of a duration, without the fraction.

    Raises:
        CallInvalid: it is longer than 10,000 years, or its seconds and nanoseconds have different signs.
    """
    seconds, nanos = duration.seconds, duration.nanos
    if abs(seconds) > _MOST_SECONDS or abs(nanos) >= _NANOS_OF_SECOND or (seconds < 0 < nanos) or (nanos < 0 < seconds):
        raise CallInvalid(Code.BAD_REQUEST, f"duration of {seconds} seconds and {nanos} nanoseconds is not valid")
    ms = nanos // _NANOS_OF_MS if nanos >= 0 else -(-nanos // _NANOS_OF_MS)
    return seconds * _MS_OF_SECOND + ms


def timestamp_ms(timestamp: Timestamp) -> int:
    """The milliseconds since 1970 of a time, without the fraction.

    Raises:
        CallInvalid: it is not in the years 1 to 9999, or its nanoseconds are not those of a second.
    """
    seconds, nanos = timestamp.seconds, timestamp.nanos
    if not (_FIRST_SECOND <= seconds <= _LAST_SECOND and 0 <= nanos < _NANOS_OF_SECOND):
        raise CallInvalid(Code.BAD_REQUEST, f"time of {seconds} seconds and {nanos} nanoseconds is not valid")
    return seconds * _MS_OF_SECOND + nanos // _NANOS_OF_MS


def put_duration(duration: Duration, ms: int) -> None:
    """Set a duration to milliseconds, which are not negative."""
    duration.seconds, rest = divmod(ms, _MS_OF_SECOND)
    duration.nanos = rest * _NANOS_OF_MS


def put_timestamp(timestamp: Timestamp, ms: int) -> None:
    """Set a time to milliseconds since 1970; what is before that, or after the year 9999, becomes the nearest.

    Producers choose times freely, and an SDK that got a time which protobuf forbids could not read the message.
    """
    timestamp.seconds, rest = divmod(min(max(ms, 0), _LAST_MS), _MS_OF_SECOND)
    timestamp.nanos = rest * _NANOS_OF_MS


@lru_cache(maxsize=256)
def timeout_ms(text: str) -> int:
    """The milliseconds in the header `grpc-timeout`, for example `3000m` or `5S`; a fraction counts as a whole one.

    Raises:
        CallInvalid: it is no timeout.
    """
    match = _TIMEOUT.fullmatch(text)
    if match is None:
        raise CallInvalid(Code.BAD_REQUEST, f"grpc-timeout is invalid: {text[:100]!r}")
    digits, unit = match.groups()
    return -(int(digits) * _NANOS_OF_UNITS[unit] // -_NANOS_OF_MS)
