"""Bodies as 4.9.7 and 5.5.0 write them: the examples of the protocol's tables and those in captured frames."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire.wire.bodies import acl, group, online, progress, statistics
from rocketwire.wire.bodies._codec import decode_body, encode_body
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.facts.codes import RequestCode
from tests.wire import golden

CLASSES = (
    online.ClientConnection,
    online.ConsumerConnection,
    online.ProducerConnection,
    online.ResetOffsetBody,
    online.ResetOffsetBodyForC,
    online.GetConsumerStatusBody,
    online.ConsumeMessageDirectlyResult,
    online.ProcessQueueInfo,
    online.ConsumeStatus,
    online.ConsumerRunningInfo,
    progress.OffsetWrapper,
    progress.ConsumeStats,
    progress.TopicOffset,
    progress.TopicStatsTable,
    progress.GroupList,
    progress.QueueTimeSpan,
    progress.QueryConsumeTimeSpanBody,
    statistics.BrokerStatsItem,
    statistics.BrokerStatsData,
    statistics.ConsumeStatsList,
    group.SubscriptionGroupConfig,
    group.SubscriptionGroupWrapper,
    acl.PlainAccessConfig,
    acl.AclConfig,
)
ANSWERS: dict[int, type] = {
    RequestCode.GET_CONSUMER_CONNECTION_LIST: online.ConsumerConnection,
    RequestCode.GET_PRODUCER_CONNECTION_LIST: online.ProducerConnection,
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: online.ResetOffsetBody,
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: online.GetConsumerStatusBody,
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: online.GetConsumerStatusBody,
    RequestCode.CONSUME_MESSAGE_DIRECTLY: online.ConsumeMessageDirectlyResult,
    RequestCode.GET_CONSUMER_RUNNING_INFO: online.ConsumerRunningInfo,
    RequestCode.GET_CONSUME_STATS: progress.ConsumeStats,
    RequestCode.GET_TOPIC_STATS_INFO: progress.TopicStatsTable,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: progress.GroupList,
    RequestCode.QUERY_CONSUME_TIME_SPAN: progress.QueryConsumeTimeSpanBody,
    RequestCode.VIEW_BROKER_STATS_DATA: statistics.BrokerStatsData,
    RequestCode.GET_BROKER_CONSUME_STATS: statistics.ConsumeStatsList,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: group.SubscriptionGroupWrapper,
}

_EXAMPLES = {"ClientConnection": "Connection"}
"""The name of the example of a class that Apache calls otherwise."""


@pytest.mark.parametrize("cls", CLASSES)
def test_examples_are_written_byte_for_byte(cls: type) -> None:
    text, *newer = golden.bodies()[_EXAMPLES.get(cls.__name__, cls.__name__)].values()
    assert encode_body(decode_body(cls, text)).decode() == text
    for each in newer:
        body: object = decode_body(cls, each)
        assert cls is online.ConsumerRunningInfo or encode_body(body).decode() == each  # 5.5.0's has of popping


def captured() -> list[tuple[int, bytes]]:
    found = []
    for capture in golden.captures("4.9.7"):
        for frame in golden.frames(capture):
            row = frame.row
            if row["kind"] == "response" and row["code"] == 0 and row["bodyLength"] and row["requestCode"] in ANSWERS:
                found.append((row["requestCode"], frame.data[-row["bodyLength"] :]))
    return found


def test_captured_answers_lose_nothing() -> None:
    found = captured()
    assert {code for code, _ in found} == set(ANSWERS)
    for code, body in found:
        assert same(loads(encode_body(decode_body(ANSWERS[code], body))), loads(body)), body


def same(ours: Any, theirs: Any) -> bool:
    """Sets have no order in Java."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return sorted(map(str, ours)) == sorted(map(str, theirs))
    return bool(ours == theirs)
