"""Drafts of check points and acknowledgements."""

from __future__ import annotations

import pytest

from rocketwire.server.core.errors import MessageIllegal
from rocketwire.server.pop.records import PopRecords, check_invisible_time
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.java import string_hash
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.pop_records import Ack, CheckPoint, batch_ack, decode_ack, decode_check_point
from rocketwire.wire.properties import decode_properties

HOST = b"\x0a\0\0\x01\0\0\0\x05"
NOW = 1_700_000_000_123
RECORDS = PopRecords("rmq_sys_REVIVE_LOG_C", HOST)
POINT = CheckPoint(
    topic="T",
    group="G",
    start_offset=3,
    offset_differences=(0, 1),
    pop_time=NOW,
    invisible_time=5000,
    broker="b",
    count=2,
)
ACK = Ack(topic="T", group="G", start_offset=3, pop_time=NOW, broker="b", offset=4)


def properties(draft: Draft) -> dict[str, str]:
    return decode_properties(draft.properties.decode())


def test_a_check_point_waits_until_a_second_before_its_time() -> None:
    draft = RECORDS.check_point(POINT, 6, NOW)
    assert (draft.topic, draft.queue_id, draft.born_host, draft.born_timestamp) == (TIMER_TOPIC, 0, HOST, NOW)
    assert decode_check_point(draft.body) == POINT
    assert (draft.tags_code, draft.unique_key) == (string_hash("ck"), f"T@0@3@G@{NOW}@b@ck")
    assert properties(draft) == {
        "TAGS": "ck",
        "UNIQ_KEY": f"T@0@3@G@{NOW}@b@ck",
        "TIMER_DELIVER_MS": str(NOW + 4000),
        "TIMER_OUT_MS": str(NOW + 4000),
        "REAL_TOPIC": "rmq_sys_REVIVE_LOG_C",
        "REAL_QID": "6",
    }


@pytest.mark.parametrize("invisible_time", [0, 1, 999, 1000])
def test_a_short_check_point_goes_to_the_revive_topic_at_once(invisible_time: int) -> None:
    point = CheckPoint(topic="T", group="G", pop_time=NOW, invisible_time=invisible_time)
    draft = RECORDS.check_point(point, 6, NOW)
    assert (draft.topic, draft.queue_id) == ("rmq_sys_REVIVE_LOG_C", 6)
    assert properties(draft)["TIMER_DELIVER_MS"] == str(NOW + invisible_time - 1000)
    assert "TIMER_OUT_MS" not in properties(draft)


@pytest.mark.parametrize(("now", "due"), [(NOW, NOW + 5000), (NOW + 4999, NOW + 5000), (NOW + 7000, NOW + 7001)])
def test_an_acknowledgement_never_overtakes_its_check_point(now: int, due: int) -> None:
    draft = RECORDS.ack(ACK, 6, NOW + 5000, now)
    assert (draft.topic, draft.tags_code) == (TIMER_TOPIC, string_hash("ack"))
    assert properties(draft)["TIMER_DELIVER_MS"] == str(due)
    assert decode_ack(draft.body) == ACK


def test_an_acknowledgement_may_be_of_several_messages() -> None:
    draft = RECORDS.ack(batch_ack(ACK, [3, 4]), 6, NOW + 5000, NOW)
    assert properties(draft)["TAGS"] == "bAck"
    assert decode_ack(draft.body).acked_offsets == (3, 4)


def test_the_brokers_own_acknowledgement_stands_in_the_revive_topic() -> None:
    draft = RECORDS.settled_draft(ACK, 6, NOW + 5000, NOW + 5010)
    assert (draft.topic, draft.queue_id) == ("rmq_sys_REVIVE_LOG_C", 6)
    assert properties(draft)["TIMER_DELIVER_MS"] == str(NOW + 5000)


def test_times_that_are_too_long_are_refused() -> None:
    check_invisible_time(10_000, 10, least=1)
    with pytest.raises(MessageIllegal, match="should not be bigger than the max delay 10000ms"):
        check_invisible_time(10_001, 10, least=1)
