"""Delay levels of 4.9 brokers instead of delivery times."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocketwire.server.remote_calls.delay_levels import FITS_MS, levels_of, with_level
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.properties import decode_properties, encode_properties

NOW = 1_700_000_000_000
LEVELS = (1_000, 5_000, 60_000)


def fields(deliver_ms: object) -> SendMessageRequestHeader:
    return SendMessageRequestHeader(
        producer_group="P",
        topic="T",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=0,
        born_timestamp=NOW,
        flag=0,
        properties=encode_properties({"KEYS": "k", "TIMER_DELIVER_MS": str(deliver_ms)}),
    )


@pytest.mark.parametrize(
    ("delay", "level"),
    [
        (1, 1),
        (5_000, 2),
        (60_000 - FITS_MS, 3),
        (60_000 + FITS_MS, 3),
        (60_000 + FITS_MS + 1, None),
        (30_000, None),
    ],
)
def test_the_nearest_level_is_used_if_it_is_near(delay: int, level: int | None) -> None:
    found = with_level(fields(NOW + delay), LEVELS, NOW)
    if level is None:
        assert found is None
    else:
        assert found is not None
        assert decode_properties(found.properties or "") == {"KEYS": "k", "DELAY": str(level)}


@pytest.mark.parametrize("levels", [LEVELS, ()], ids=["known", "unknown"])
@pytest.mark.parametrize("delay", [0, -1, -3_600_000])
def test_a_due_message_has_neither_a_time_nor_a_level(delay: int, levels: tuple[int, ...]) -> None:
    found = with_level(fields(NOW + delay), levels, NOW)
    assert found is not None
    assert decode_properties(found.properties or "") == {"KEYS": "k"}


def test_times_without_a_near_level_are_refused() -> None:
    assert with_level(fields(NOW + 1_000), (), NOW) is None
    assert with_level(fields("soon"), LEVELS, NOW) is None
    assert with_level(replace(fields(NOW), properties=None), LEVELS, NOW) is None
    assert with_level(replace(fields(NOW + 1_000), batch=True), LEVELS, NOW) is None


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        (b"a=b\nmessageDelayLevel=1s 5s 2h\n", (1_000, 5_000, 7_200_000)),
        (b"a=b\n", ()),
        (b"messageDelayLevel=1s  x\n", ()),
        (b"messageDelayLevel=1y\n", ()),
        (b"messageDelayLevel=\\u12\n", ()),
    ],
)
def test_the_levels_of_a_broker_are_read(text: bytes, levels: tuple[int, ...]) -> None:
    assert levels_of(text) == levels
