from collections.abc import Callable
from typing import TypeVar

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.times import duration_ms, put_duration, put_timestamp, timeout_ms, timestamp_ms
from tests.wire import golden

T = TypeVar("T")

_LAST_MS = 253_402_300_799_999


@pytest.mark.parametrize(("seconds", "nanos", "duration", "timestamp"), golden.grpc_cases("times"))
def test_times_are_apaches(seconds: str, nanos: int, duration: int | None, timestamp: int | None) -> None:
    assert _read(duration_ms, Duration(seconds=int(seconds), nanos=nanos)) == duration
    assert _read(timestamp_ms, Timestamp(seconds=int(seconds), nanos=nanos)) == timestamp


def _read(read: Callable[[T], int], value: T) -> int | None:
    try:
        return read(value)
    except CallInvalid as error:
        assert error.code is Code.BAD_REQUEST
        return None


@given(st.integers(0, _LAST_MS))
def test_a_time_that_was_put_is_read(ms: int) -> None:
    timestamp, duration = Timestamp(), Duration()
    put_timestamp(timestamp, ms)
    put_duration(duration, ms)
    assert timestamp_ms(timestamp) == duration_ms(duration) == ms
    assert timestamp.ToMilliseconds() == duration.ToMilliseconds() == ms


def test_milliseconds_are_seconds_and_nanoseconds() -> None:
    duration = Duration()
    put_duration(duration, 61_234)
    assert (duration.seconds, duration.nanos) == (61, 234_000_000)


@pytest.mark.parametrize(("ms", "put"), [(-(2**63), 0), (-1, 0), (_LAST_MS + 1, _LAST_MS), (2**63 - 1, _LAST_MS)])
def test_a_time_that_protobuf_forbids_becomes_the_nearest(ms: int, put: int) -> None:
    timestamp = Timestamp()
    put_timestamp(timestamp, ms)
    assert timestamp_ms(timestamp) == put


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0S", 0),
        ("5S", 5_000),
        ("3000m", 3_000),
        ("2M", 120_000),
        ("1H", 3_600_000),
        ("1500u", 2),
        ("1000000n", 1),
        ("1n", 1),
        ("99999999H", 359_999_996_400_000),
    ],
)
def test_timeouts(text: str, ms: int) -> None:
    assert timeout_ms(text) == ms


@pytest.mark.parametrize("text", ["", "5", "S", "-1S", "5s", "999999999m", "٣S", "5S ", "1.5S", "x" * 1000])
def test_what_is_no_timeout(text: str) -> None:
    with pytest.raises(CallInvalid, match="grpc-timeout"):
        timeout_ms(text)
