"""Whether sends may be stored, asked directly; the words and codes are in test_handlers.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketwire.server.core.errors import NameInvalid, NotPermitted, TopicNotFound
from rocketwire.server.send.checks import topic_text
from rocketwire.wire.bodies.topic import TopicConfig
from tests.server.send_setup import HOST, Setup, body, fields


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path)
    yield made
    made.store.close()


def test_a_topic_that_may_not_be_made_is_named(setup: Setup) -> None:
    setup.live.update({"autoCreateTopicEnable": "false"})
    with pytest.raises(TopicNotFound, match=r"^topic\[New\] not exist, apply first please!"):
        setup.sending.drafts.message(fields("New"), body(), HOST, "peer")
    assert setup.topics.get("New") is None


def test_a_refused_message_makes_no_topic_of_the_brokers(setup: Setup) -> None:
    with pytest.raises(NotPermitted):
        setup.sending.drafts.message(fields("TRANS_CHECK_MAX_TIME_TOPIC"), body(), HOST, "peer")
    assert setup.topics.get("TRANS_CHECK_MAX_TIME_TOPIC") is None


def test_a_bad_name_from_apaches_file_takes_no_message(setup: Setup) -> None:
    topic = "%RETRY%" + "g" * 249
    setup.topics.table.put(TopicConfig(topic_name=topic))
    setup.topics.make_system_topics(setup.live.current.broker, 18)
    with pytest.raises(NameInvalid, match=r"^The specified topic is longer than topic max length\.$"):
        setup.sending.drafts.message(fields(topic), body(), HOST, "peer")


def test_the_brokers_permission_is_looked_at_before_the_name(setup: Setup) -> None:
    setup.topics.put(TopicConfig(topic_name="SELF_TEST_TOPIC", order=True))
    with pytest.raises(NotPermitted, match=r"^Sending message to topic\[SELF_TEST_TOPIC\] is forbidden\.$"):
        setup.sending.drafts.message(fields("SELF_TEST_TOPIC"), body(), HOST, "peer")
    setup.live.update({"brokerPermission": "4"})
    with pytest.raises(NotPermitted, match=r"^the broker\[127\.0\.0\.1\] sending message is forbidden$"):
        setup.sending.drafts.message(fields("SELF_TEST_TOPIC"), body(), HOST, "peer")


def test_a_topic_in_apaches_words() -> None:
    config = TopicConfig(topic_name="T", read_queue_nums=2, write_queue_nums=3, perm=3, order=True)
    assert topic_text(config) == (
        "TopicConfig [topicName=T, readQueueNums=2, writeQueueNums=3, perm=-WX, "
        "topicFilterType=SINGLE_TAG, topicSysFlag=0, order=true]"
    )
