"""What sends become in the store, asked directly; the words and codes are in handlers/test_send.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.errors import MessageIllegal
from rocketwire.wire.fast import SendFields
from rocketwire.wire.java import string_hash
from tests.server.harness import batch_body, properties_text
from tests.server.send_setup import HOST, Setup, body, fields


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path)
    yield made
    made.store.close()


def test_a_message_becomes_one_draft(setup: Setup) -> None:
    prepared = setup.sending.drafts.message(
        fields(tags="标签", keys="k", unique_key="U", queue_id=1, flag=3), body(), HOST, "peer"
    )
    assert (prepared.queue_id, prepared.wait) == (1, True)
    (draft,) = prepared.drafts
    assert (draft.topic, draft.queue_id, bytes(draft.body), draft.flag) == ("T", 1, b"body", 3)
    assert (draft.tags_code, draft.keys, draft.unique_key) == (string_hash("标签"), "k", "U")
    assert bytes(draft.properties).endswith(b"\x02CLUSTER\x01C")
    assert b"WAIT" not in bytes(draft.properties)
    assert draft.born_host == HOST


def test_both_decoders_fields_are_taken(setup: Setup) -> None:
    hot = SendFields(
        producer_group="p",
        topic="T",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=0,
        born_timestamp=1,
        flag=0,
        properties=None,
    )
    (draft,) = setup.sending.drafts.message(hot, body(), HOST, "peer").drafts
    assert bytes(draft.properties) == b"CLUSTER\x01C"
    assert draft.reconsume_times == 0


@pytest.mark.parametrize(("wait", "expected"), [("true", True), ("false", False), ("odd", False)])
def test_the_producer_says_whether_it_waits(setup: Setup, wait: str, expected: bool) -> None:
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
        KEYS="k", UNIQ_KEY="U", DELAY="18", TAGS="A", CLUSTER="C", WAIT="true", REAL_TOPIC="T", REAL_QID="1"
    )
    assert bytes(draft.properties).decode() == expected


@pytest.mark.parametrize(
    "changes", [{"properties": "DELAY\x010"}, {"properties": "DELAY\x011", "sys_flag": 4}], ids=str
)
def test_what_is_not_delayed_stays_as_it_is(setup: Setup, changes: Any) -> None:
    (draft,) = setup.sending.drafts.message(fields(**changes), body(), HOST, "peer").drafts
    assert draft.topic == "T"
    assert bytes(draft.properties).decode() == changes["properties"] + "\x02CLUSTER\x01C"


def test_what_the_broker_adds_may_make_properties_too_long(setup: Setup) -> None:
    text = properties_text(DELAY="1", long="x" * 32_730)
    with pytest.raises(MessageIllegal, match="msg properties length limit 32KB"):
        setup.sending.drafts.message(fields(properties=text), body(), HOST, "peer")


def test_a_batch_is_not_delayed_as_a_whole_either(setup: Setup) -> None:
    with pytest.raises(MessageIllegal, match="DELAY"):
        setup.sending.drafts.batch(
            fields(properties=properties_text(DELAY="1")), body(batch_body([b"a"])), HOST, "peer"
        )


def test_a_batch_becomes_a_draft_a_message(setup: Setup) -> None:
    text = properties_text(TAGS="A", KEYS="k", UNIQ_KEY="U")
    prepared = setup.sending.drafts.batch(fields(properties=""), body(batch_body([b"a", b"b"], text)), HOST, "peer")
    assert [bytes(draft.body) for draft in prepared.drafts] == [b"a", b"b"]
    assert [draft.together for draft in prepared.drafts] == [2, 0]
    assert [(draft.tags_code, draft.keys, draft.unique_key) for draft in prepared.drafts] == [(65, "k", "U")] * 2
    assert bytes(prepared.drafts[0].properties).decode() == f"{text}\x02CLUSTER\x01C"


def test_a_body_over_the_limit(setup: Setup) -> None:
    setup.live.update({"maxMessageSize": "3"})
    with pytest.raises(MessageIllegal, match=r"msg body length limit 3B,"):
        setup.sending.drafts.message(fields(), body(), HOST, "peer")
