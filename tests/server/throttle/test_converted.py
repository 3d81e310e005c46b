from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.throttle.converted import MessageWeights
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.store.append.drafts import Draft
from rocketwire.wire import names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import SMALLEST_RECORD
from rocketwire.wire.message import MessageRecord, encode_record
from tests.server.harness import properties_text
from tests.server.send_setup import HOST, Setup, body, fields

USUAL = MessageWeights.of(ThrottleKeys())
EACH = MessageWeights(bytes_each=10, transactional=2, ordered=3, scheduled=4)


def draft(size: int, topic: str = "T", properties: bytes = b"") -> Draft:
    return Draft(topic, 0, bytes(size), properties, 0, 0, 0, HOST, 0, 0, 0)


@given(st.lists(st.integers(0, 20_000), max_size=5), st.integers(1, 9000))
def test_a_message_counts_once_for_each_begun_piece(sizes: list[int], bytes_each: int) -> None:
    conversion = USUAL._replace(bytes_each=bytes_each)
    wanted = sum(max(1, math.ceil(size / bytes_each)) for size in sizes)
    assert conversion.sent(map(draft, sizes), ordered=False) == wanted


@pytest.mark.parametrize(("size", "count"), [(0, 1), (1, 1), (4096, 1), (4097, 2), (8192, 2), (4 << 20, 1024)])
def test_a_piece_has_4_kib(size: int, count: int) -> None:
    assert USUAL.sent([draft(size)], ordered=False) == count


SENT = [
    ("plain", {}, 1),
    ("ordered", {"__SHARDINGKEY": "k"}, 3),
    ("no key", {"X__SHARDINGKEY": "k"}, 1),
    ("key in a value", {"a": "__SHARDINGKEY"}, 1),
    ("transactional", {"TRAN_MSG": "true"}, 2),
    ("transactional and ordered", {"TRAN_MSG": "true", "__SHARDINGKEY": "k"}, 3),
    ("by level", {"DELAY": "3"}, 4),
    ("by level and ordered", {"DELAY": "3", "__SHARDINGKEY": "k"}, 4),
    ("level 0", {"DELAY": "0"}, 1),
    ("timer", {"TIMER_DELAY_SEC": "60"}, 4),
    ("timer of the past", {"TIMER_DELIVER_MS": "1"}, 1),
]


@pytest.mark.parametrize(("properties", "factor"), [case[1:] for case in SENT], ids=[case[0] for case in SENT])
def test_factors_of_sends_apply(tmp_path: Path, properties: dict[str, str], factor: int) -> None:
    setup = Setup(tmp_path)
    wanted = fields(properties=properties_text(**properties))
    prepared = setup.sending.prepare(wanted, body(bytes(11)), HOST, "")
    assert prepared is not None
    assert EACH.sent(prepared.drafts, ordered=False) == 2 * factor


def test_an_ordered_topic_uses_the_greater_factor() -> None:
    assert EACH.sent([draft(1)], ordered=True) == 3
    assert EACH.sent([draft(1, names.TIMER_TOPIC)], ordered=True) == 4
    assert EACH.sent([draft(1, names.TRANS_HALF_TOPIC)], ordered=True) == 3


def record(size: int = 1, sys_flag: int = 0, *, born_host: str = "10.0.0.1", **properties: str) -> bytes:
    text = properties_text(**properties).encode()
    return encode_record(
        MessageRecord(
            topic="T", queue_id=0, body=bytes(size), properties=text, sys_flag=sys_flag, born_host=(born_host, 1)
        )
    )


COMMITTED = int(SysFlag.TRANSACTION_COMMIT)
RECEIVED = [
    ("plain", record(), 1),
    ("large", record(31), 4),
    ("empty", record(0), 1),
    ("IPv6", record(11, born_host="::1"), 2),
    ("ordered", record(__SHARDINGKEY="k"), 3),
    ("committed", record(sys_flag=COMMITTED, REAL_TOPIC="T"), 2),
    ("committed and ordered", record(sys_flag=COMMITTED, __SHARDINGKEY="k"), 3),
    ("by level", record(DELAY="3", REAL_TOPIC="T"), 4),
    ("level 0", record(DELAY="0"), 1),
    ("timer", record(TIMER_OUT_MS="1"), 4),
    ("timer of the past", record(TIMER_DELIVER_MS="1"), 1),
    ("tried again", record(DELAY="3", REAL_TOPIC="%RETRY%G", RETRY_TOPIC="T"), 1),
    ("dead letter", record(DELAY="0", REAL_TOPIC="%RETRY%G", RETRY_TOPIC="T"), 1),
    ("timer that is tried again", record(TIMER_OUT_MS="1", DELAY="3", REAL_TOPIC="%RETRY%G"), 1),
    ("by level, with an origin that a client invented", record(DELAY="3", REAL_TOPIC="T", RETRY_TOPIC="U"), 4),
]


@pytest.mark.parametrize(("data", "count"), [case[1:] for case in RECEIVED], ids=[case[0] for case in RECEIVED])
def test_factors_of_receives_apply(data: bytes, count: int) -> None:
    assert EACH.received([memoryview(data)], ordered=False) == count


def test_a_redelivered_message_is_not_counted_as_scheduled() -> None:
    again = memoryview(record(DELAY="3", REAL_TOPIC="%RETRY%G"))
    assert EACH.received([again], ordered=False) == 1
    assert EACH.received([again], ordered=True) == 3


def test_records_in_one_body_are_counted() -> None:
    chunks = [b"".join(data for _, data, _ in RECEIVED), RECEIVED[1][1]]
    wanted = sum(count for _, _, count in RECEIVED) + 4
    assert EACH.received([memoryview(chunk) for chunk in chunks], ordered=False) == wanted


@pytest.mark.parametrize("bad", [b"x", bytes(200), b"\x00\x00\x10\x00" + bytes(200), b"\x7f" * 200])
def test_a_damaged_record_counts_once_with_all_behind_it(bad: bytes) -> None:
    assert EACH.received([memoryview(record() + bad)], ordered=False) == 2


@given(st.binary(min_size=SMALLEST_RECORD, max_size=300))
def test_any_bytes_are_counted_without_an_error(data: bytes) -> None:
    data = len(data).to_bytes(4, "big") + data[4:]
    assert EACH.received([memoryview(data)], ordered=False) >= 1


def test_a_message_counts_the_same_when_sent_and_when_received(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    for size in (0, 1, 4096, 4097, 50_000):
        prepared = setup.sending.prepare(fields(), body(bytes(size)), HOST, "")
        assert prepared is not None
        setup.storing.append_and_report(prepared.drafts, setup.outcome, wait=False)
        stored = setup.store.get("T", 0, setup.store.max_offset("T", 0) - 1, 1)
        assert USUAL.received(stored.chunks, ordered=False) == USUAL.sent(prepared.drafts, ordered=False)


@given(st.integers(1, 9), st.integers(1, 9), st.booleans(), st.booleans())
def test_the_kernel_gets_the_same_factors(ordered: int, scheduled: int, topic: bool, common: bool) -> None:
    conversion = MessageWeights(bytes_each=10, transactional=9, ordered=ordered, scheduled=scheduled)
    tail = b"__SHARDINGKEY\x01k" if common else b""
    each, any_one, with_key, timed = conversion.factors(tail, ordered=topic)

    def count(topic_name: str, properties: bytes) -> int:
        return conversion.sent([draft(31, topic_name, properties + b"\x02" + tail)], ordered=topic)

    assert each == 10
    assert count("T", b"a\x01b") == 4 * any_one
    assert count("T", b"__SHARDINGKEY\x01k") == 4 * with_key
    assert count(names.TIMER_TOPIC, b"a\x01b") == 4 * timed
    assert count(names.TIMER_TOPIC, b"__SHARDINGKEY\x01k") == 4 * max(with_key, timed)
