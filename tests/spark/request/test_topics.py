"""Which topics are hidden."""

import pytest

from rocketwire.spark.request.topics import is_hidden


@pytest.mark.parametrize(
    "topic",
    [
        *("%RETRY%g", "%DLQ%g", "%LMQ%q", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_wheel_timer"),
        *("RMQ_SYS_TRACE_TOPIC", "CHECKPOINT_TOPIC"),
    ],
)
def test_topics_of_rocketmq_and_of_groups_are_hidden(topic: str) -> None:
    assert is_hidden(topic)


@pytest.mark.parametrize("topic", ["Orders", "RETRY", "RMQ", "cluster_REPLY_TOPIC"])
def test_others_are_not(topic: str) -> None:
    assert not is_hidden(topic)
