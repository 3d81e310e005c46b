"""Keys of topics and groups."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import key
from rocketwire.wire.names import TRACE_TOPIC


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicKeys:
    """Which topics and groups exist, and which are created when they are needed."""

    auto_create_topic_enable: bool = key("a send to a new topic creates it", default=True, online=True)
    default_topic_queue_nums: int = key(
        "most queues of a topic made by a send", default=8, low=1, high=65535, online=True
    )
    auto_create_subscription_group: bool = key("a new consumer group is accepted", default=True, online=True)
    cluster_topic_enable: bool = key("the topic named like the cluster exists", default=True)
    broker_topic_enable: bool = key("the topic named like the broker exists", default=True)
    trace_topic_enable: bool = key("the trace topic exists", default=False)
    msg_trace_topic_name: str = key("the trace topic's name", default=TRACE_TOPIC)
    notify_consumer_ids_changed_enable: bool = key(
        "notify a group's consumers when one joins or leaves", default=True, online=True
    )
