"""Messages that a consumer fails: retried later, dead letters after too many tries. Retries take seconds here."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from compat_tests import remoting
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client
from rocketwire.compat.messages import Outgoing

CREATE_TOPIC = 17
CREATE_GROUP = 200
SEND_BACK = 36


@pytest.fixture
def swift_topic(swift_client: Client, unique: Callable[[str], str]) -> str:
    """A new topic with one queue."""
    name = unique("Retried")
    swift_client.run("CreateTopic", topic=name, queues=1)
    return name


def test_what_cannot_be_given_back(swift: Endpoint, unique: Callable[[str], str]) -> None:
    """A message that is not there, any more or yet, and one whose retry topic takes nothing."""
    group = unique("group")
    for offset in (1 << 40, -1):
        answer = remoting.request(swift.broker, SEND_BACK, {"offset": offset, "group": group, "delayLevel": 0})
        assert (answer.code, answer.remark) == (1, f"look message by offset failed, {offset}")
    retry: dict[str, str | int] = {
        "topic": f"%RETRY%{group}",
        "defaultTopic": "TBW102",
        "readQueueNums": 1,
        "writeQueueNums": 1,
        "perm": 4,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": "false",
    }
    assert remoting.request(swift.broker, CREATE_TOPIC, retry).code == 0
    answer = remoting.request(swift.broker, SEND_BACK, {"offset": 0, "group": group, "delayLevel": 0})
    assert (answer.code, answer.remark) == (16, f"the topic[%RETRY%{group}] sending message is forbidden")


def test_the_groups_configuration_counts(
    swift: Endpoint, swift_client: Client, swift_topic: str, unique: Callable[[str], str]
) -> None:
    """Its number of tries where a client sends none, and that it wants no retries."""
    group = unique("group")
    (sent,) = swift_client.only("sent", "SendSync", topic=swift_topic, message=[Outgoing(body="any")])
    fields: dict[str, str | int] = {"offset": int(sent["offsetMsgId"][16:], 16), "group": group, "delayLevel": 0}
    letters = 0
    for queues, most in ((1, 0), (0, 0), (1, 1)):
        config = {"groupName": group, "retryQueueNums": queues, "retryMaxTimes": most}
        answer = remoting.request(swift.broker, CREATE_GROUP, body=json.dumps(config).encode())
        assert answer.code == 0, answer
        assert remoting.request(swift.broker, SEND_BACK, fields).code == 0
        letters += queues > 0 and most == 0
        assert _dead_letters(swift.broker, group, least=letters) == letters


def _dead_letters(broker: str, group: str, *, least: int) -> int:
    """How many dead letters a group has once it has so many: Apache's broker fills its queues behind the log."""
    topic = f"%DLQ%{group}"
    wait_until(lambda: remoting.max_offset(broker, topic, 0) >= least)
    return remoting.max_offset(broker, topic, 0)
