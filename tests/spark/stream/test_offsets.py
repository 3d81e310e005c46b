"""Offsets of streams: in a checkpoint, and shared out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.stream.offsets import BrokerQueue, LastRead, last_read, nested, parse_offsets, shares

OFFSETS = st.dictionaries(
    st.builds(BrokerQueue, st.text(max_size=3), st.text(max_size=3), st.integers(0, 20)), st.integers(0, 1 << 62)
)


NUMBERS = st.integers(0, 1 << 62)


@given(offsets=OFFSETS, message=st.builds(LastRead, NUMBERS, NUMBERS, st.integers(-(1 << 31), (1 << 31) - 1)))
def test_offsets_come_back_from_json(offsets: dict[BrokerQueue, int], message: LastRead) -> None:
    last = {queue.broker: message for queue in offsets}
    kept = json.loads(json.dumps(nested(offsets, last)))
    assert (parse_offsets(kept), last_read(kept)) == (offsets, last)
    assert last_read(json.loads(json.dumps(nested(offsets)))) == {}


@given(offsets=OFFSETS)
def test_equal_offsets_are_equal_json(offsets: dict[BrokerQueue, int]) -> None:
    again = dict(reversed(offsets.items()))
    assert json.dumps(nested(offsets)) == json.dumps(nested(again))


@pytest.mark.parametrize(
    "kept",
    [
        None,
        [],
        3,
        {"b": 3},
        {"b": {"T": 3}},
        {"b": {"T": {"x": 3}}},
        {"b": {"T": {"-1": 3}}},
        {"b": {"T": {"0": -1}}},
        {"b": {"T": {"0": "3"}}},
        {"b": {"T": {"0": True}}},
    ],
)
def test_what_is_no_offsets_is_an_error(kept: object) -> None:
    with pytest.raises(OptionInvalid, match=r"ROCKETMQ_OPTION_INVALID.*checkpoint"):
        parse_offsets(kept)


@pytest.mark.parametrize("mark", [3, {}, {"physical_offset": 1, "store_timestamp": 2, "body_crc": "3"}])
def test_what_is_no_message_is_an_error(mark: object) -> None:
    with pytest.raises(OptionInvalid, match=r"ROCKETMQ_OPTION_INVALID.*checkpoint"):
        last_read({"b": {"@last": mark}})


@given(backlogs=st.dictionaries(st.integers(), st.integers(0, 10_000), min_size=1), most=st.integers(1, 20_000))
def test_shares_add_up_and_are_in_proportion(backlogs: dict[int, int], most: int) -> None:
    parts = shares(backlogs, most)
    total = sum(backlogs.values())
    assert parts.keys() == backlogs.keys()
    assert sum(parts.values()) == min(most, total)
    for key, part in parts.items():
        assert 0 <= part <= backlogs[key]
        assert abs(part * total - backlogs[key] * min(total, most)) <= total
