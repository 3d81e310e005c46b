"""Which sends may be stored, and their drafts; the response codes are in test_handlers.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.core.errors import MessageIllegal, NameInvalid, NotPermitted
from rocketwire.server.send.checks import topic_text
from rocketwire.server.timer.records import TIMER_ROOM
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import decode_properties
from rocketwire.wire.recall_handle import encode_recall_handle
from tests.server.harness import BROKER_PROPERTIES, BROKER_TEXT, NOW, batch_body, properties_text
from tests.server.send_setup import HOST, Setup, body, fields


def test_a_message_becomes_one_draft(setup: Setup) -> None:
    prepared = setup.sending.drafts.message(
        fields(tags="标签", keys="k", unique_key="U", queue_id=1, flag=3), body(), HOST, "peer"
    )
    assert (prepared.queue_id, prepared.wait) == (1, True)
    (draft,) = prepared.drafts
    assert (draft.topic, draft.queue_id, bytes(draft.body), draft.flag) == ("T", 1, b"body", 3)
    assert (draft.tags_code, draft.keys, draft.unique_key) == (string_hash("标签"), "k", "U")
    assert bytes(draft.properties).endswith(f"\x02{BROKER_TEXT}".encode())
    assert b"WAIT" not in bytes(draft.properties)
    assert draft.born_host == HOST


def test_without_the_region_a_message_is_stored_as_by_4_9_7(tmp_path: Path) -> None:
    made = Setup(tmp_path, store_region=False)
    (draft,) = made.sending.drafts.message(fields(), body(), HOST, "peer").drafts
    assert bytes(draft.properties).endswith(b"CLUSTER\x01C")
    assert b"MSG_REGION" not in bytes(draft.properties)
    made.store.close()


@pytest.mark.parametrize(("wait", "expected"), [("true", True), ("false", False), ("odd", False)])
def test_the_producer_decides_whether_it_waits(setup: Setup, wait: str, expected: bool) -> None:
    text = properties_text(WAIT=wait)
    assert setup.sending.drafts.message(fields(properties=text), body(), HOST, "peer").wait is expected
    batch = setup.sending.drafts.batch(fields(properties=text), body(batch_body([b"a"])), HOST, "peer")
    assert batch.wait is expected


def test_a_delayed_message_waits_in_the_schedule_topic(setup: Setup) -> None:
    text = properties_text(KEYS="k", UNIQ_KEY="U", WAIT="true", DELAY="99", TAGS="A")
    (draft,) = setup.sending.drafts.message(fields(properties=text, queue_id=1), body(), HOST, "peer").drafts
    assert (draft.topic, draft.queue_id) == ("SCHEDULE_TOPIC_XXXX", 17)
    assert (draft.tags_code, draft.keys, draft.unique_key) == (string_hash("A"), "k", "U")
    expected = properties_text(
        KEYS="k", UNIQ_KEY="U", DELAY="18", TAGS="A", **BROKER_PROPERTIES, WAIT="true", REAL_TOPIC="T", REAL_QID="1"
    )
    assert bytes(draft.properties).decode() == expected


@pytest.mark.parametrize(
    "changes", [{"properties": "DELAY\x010"}, {"properties": "DELAY\x011", "sys_flag": 4}], ids=str
)
def test_a_message_without_a_delay_is_unchanged(setup: Setup, changes: Any) -> None:
    (draft,) = setup.sending.drafts.message(fields(**changes), body(), HOST, "peer").drafts
    assert draft.topic == "T"
    assert bytes(draft.properties).decode() == f"{changes['properties']}\x02{BROKER_TEXT}"


def test_properties_may_become_too_long_by_what_the_broker_adds(setup: Setup) -> None:
    text = properties_text(DELAY="1", long="x" * 32_730)
    with pytest.raises(MessageIllegal, match="msg properties length limit 32KB"):
        setup.sending.drafts.message(fields(properties=text), body(), HOST, "peer")


@pytest.mark.parametrize("name", ["DELAY", "TIMER_DELAY_SEC", "__STARTDELIVERTIME", "TIMER_DEL_UNIQKEY"])
def test_a_batch_is_not_delayed_as_a_whole_either(setup: Setup, name: str) -> None:
    with pytest.raises(MessageIllegal, match=name):
        setup.sending.drafts.batch(
            fields(properties=properties_text(**{name: "1"})), body(batch_body([b"a"])), HOST, "peer"
        )


def test_a_timer_message_waits_in_the_timers_topic(setup: Setup) -> None:
    text = properties_text(KEYS="k", UNIQ_KEY="U", WAIT="true", TIMER_DELAY_MS="1500", TAGS="A")
    prepared = setup.sending.drafts.message(fields(properties=text, queue_id=1), body(), HOST, "peer")
    (draft,) = prepared.drafts
    assert (prepared.queue_id, draft.topic, draft.queue_id) == (1, "rmq_sys_wheel_timer", 0)
    assert (draft.tags_code, draft.keys, draft.unique_key) == (string_hash("A"), "k", "U")
    assert bytes(draft.properties).decode() == properties_text(
        KEYS="k",
        UNIQ_KEY="U",
        TIMER_DELAY_MS="1500",
        TAGS="A",
        **BROKER_PROPERTIES,
        WAIT="true",
        TIMER_OUT_MS=str(NOW + 1499),
        REAL_TOPIC="T",
        REAL_QID="1",
    )
    assert prepared.recall_handle == encode_recall_handle("T", "broker-a", NOW + 1500, "U")


def test_a_delay_level_counts_before_a_time_and_removes_it(setup: Setup) -> None:
    text = properties_text(
        TIMER_DELIVER_MS="x", a="b", TIMER_DELAY_SEC="5", DELAY="3", TIMER_DELAY_MS="1", TIMER_DEL_UNIQKEY="U"
    )
    prepared = setup.sending.drafts.message(fields(properties=text), body(), HOST, "peer")
    (draft,) = prepared.drafts
    assert (draft.topic, draft.queue_id, prepared.recall_handle) == ("SCHEDULE_TOPIC_XXXX", 2, None)
    assert bytes(draft.properties).decode() == properties_text(
        a="b", DELAY="3", TIMER_DEL_UNIQKEY="U", **BROKER_PROPERTIES, REAL_TOPIC="T", REAL_QID="0"
    )


def test_without_a_delay_level_the_time_stays(setup: Setup) -> None:
    for level in ("0", "-1"):
        text = properties_text(DELAY=level, TIMER_DELAY_SEC="5")
        (draft,) = setup.sending.drafts.message(fields(properties=text), body(), HOST, "peer").drafts
        assert draft.topic == "rmq_sys_wheel_timer"


@pytest.mark.parametrize(("kind", "waits"), [(0, True), (SysFlag.TRANSACTION_COMMIT, True), (12, False)])
def test_a_rolled_back_message_does_not_wait(setup: Setup, kind: int, waits: bool) -> None:
    text = properties_text(TIMER_DELAY_SEC="5")
    (draft,) = setup.sending.drafts.message(fields(properties=text, sys_flag=kind), body(), HOST, "peer").drafts
    assert (draft.topic, draft.sys_flag) == (("rmq_sys_wheel_timer", 0) if waits else ("T", kind))


def test_the_times_of_a_half_message_are_dropped(setup: Setup) -> None:
    text = properties_text(TRAN_MSG="true", __STARTDELIVERTIME="5", TIMER_DELAY_MS="x")
    (draft,) = setup.sending.drafts.message(fields(properties=text), body(), HOST, "peer").drafts
    assert draft.topic == "RMQ_SYS_TRANS_HALF_TOPIC"
    expected = properties_text(TRAN_MSG="true", **BROKER_PROPERTIES, REAL_TOPIC="T", REAL_QID="0")
    assert bytes(draft.properties).decode() == expected


def test_a_timer_message_leaves_room_for_the_properties_of_its_wait(setup: Setup) -> None:
    def length(more: int) -> int:
        text = properties_text(long="x" * more, TIMER_DELAY_SEC="5")
        (draft,) = setup.sending.drafts.message(fields(properties=text), body(), HOST, "peer").drafts
        return len(draft.properties)

    most = 32_767 - TIMER_ROOM
    room = most - length(1) + 1
    assert length(room) == most
    with pytest.raises(MessageIllegal, match="msg properties length limit 32KB"):
        length(room + 1)


def test_a_batch_becomes_one_draft_for_each_message(setup: Setup) -> None:
    text = properties_text(TAGS="A", KEYS="k", UNIQ_KEY="U")
    prepared = setup.sending.drafts.batch(fields(properties=""), body(batch_body([b"a", b"b"], text)), HOST, "peer")
    assert [bytes(draft.body) for draft in prepared.drafts] == [b"a", b"b"]
    assert [draft.group_size for draft in prepared.drafts] == [2, 0]
    assert [(draft.tags_code, draft.keys, draft.unique_key) for draft in prepared.drafts] == [(65, "k", "U")] * 2
    stored = bytes(prepared.drafts[0].properties).decode()
    assert stored.startswith(f"{text}\x02")
    assert decode_properties(stored) == {"TAGS": "A", "KEYS": "k", "UNIQ_KEY": "U", **BROKER_PROPERTIES}


def test_a_refused_message_creates_no_system_topic(setup: Setup) -> None:
    with pytest.raises(NotPermitted):
        setup.sending.drafts.message(fields("TRANS_CHECK_MAX_TIME_TOPIC"), body(), HOST, "peer")
    assert setup.topics.get("TRANS_CHECK_MAX_TIME_TOPIC") is None


def test_a_topic_of_apaches_file_with_a_bad_name_accepts_no_message(setup: Setup) -> None:
    topic = "%RETRY%" + "g" * 249
    setup.topics.table.put(TopicConfig(topic_name=topic))
    setup.topics.make_system_topics(setup.live.current.broker, 18)
    with pytest.raises(NameInvalid, match=r"^The specified topic is longer than topic max length\.$"):
        setup.sending.drafts.message(fields(topic), body(), HOST, "peer")


def test_the_brokers_permission_is_checked_before_the_name(setup: Setup) -> None:
    setup.topics.put(TopicConfig(topic_name="SELF_TEST_TOPIC", order=True))
    with pytest.raises(NotPermitted, match=r"^Sending message to topic\[SELF_TEST_TOPIC\] is forbidden\.$"):
        setup.sending.drafts.message(fields("SELF_TEST_TOPIC"), body(), HOST, "peer")
    setup.live.update({"brokerPermission": "4"})
    with pytest.raises(NotPermitted, match=r"^the broker\[127\.0\.0\.1\] sending message is forbidden$"):
        setup.sending.drafts.message(fields("SELF_TEST_TOPIC"), body(), HOST, "peer")


def test_refusals_of_topics_have_apaches_remarks() -> None:
    config = TopicConfig(topic_name="T", read_queue_nums=2, write_queue_nums=3, perm=3, order=True)
    assert topic_text(config) == (
        "TopicConfig [topicName=T, readQueueNums=2, writeQueueNums=3, perm=-WX, "
        "topicFilterType=SINGLE_TAG, topicSysFlag=0, order=true]"
    )
