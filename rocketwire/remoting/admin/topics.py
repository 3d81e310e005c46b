"""Topics: their kinds, configurations and queues, and creating, changing and deleting them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from rocketwire.remoting.connection import BlockingConnection
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.progress import TopicOffset, TopicStatsTable
from rocketwire.wire.bodies.route import ClusterInfo
from rocketwire.wire.bodies.topic import TopicConfig, TopicConfigSerializeWrapper
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.admin import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicConfigRequestHeader,
)
from rocketwire.wire.headers.group import GetTopicStatsInfoRequestHeader
from rocketwire.wire.names import (
    AUTO_CREATE_TOPIC,
    DEAD_LETTER_PREFIX,
    RETRY_PREFIX,
    is_system_topic_of_any_version,
    reply_topic,
)

MESSAGE_TYPE: Final = "message.type"
"""The attribute with the type of messages that a topic takes."""
_UNSUPPORTED: Final = ResponseCode.REQUEST_CODE_NOT_SUPPORTED
_ONE_CONFIG: Final = (ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST, _UNSUPPORTED)


class TopicKind(StrEnum):
    """Whose topic it is."""

    OWN = "own"
    RETRY = "retry"
    DEAD_LETTER = "dead-letter"
    SYSTEM = "system"


def topic_kind(topic: str, info: ClusterInfo) -> TopicKind:
    """The kind of a topic: brokers have internal topics, which are named like them and like their cluster."""
    if topic.startswith(RETRY_PREFIX):
        return TopicKind.RETRY
    if topic.startswith(DEAD_LETTER_PREFIX):
        return TopicKind.DEAD_LETTER
    clusters = info.cluster_addr_table
    of_brokers = topic in info.broker_addr_table or topic in clusters or topic in map(reply_topic, clusters)
    return TopicKind.SYSTEM if of_brokers or is_system_topic_of_any_version(topic) else TopicKind.OWN


def knows_attributes(broker: BlockingConnection) -> bool:
    """Whether a broker keeps attributes of topics, such as the message type: 4.x does not."""
    fields = GetTopicConfigRequestHeader(topic=AUTO_CREATE_TOPIC)
    return broker.ask(RequestCode.GET_TOPIC_CONFIG, fields, fine=_ONE_CONFIG).code != _UNSUPPORTED


def topic_config(broker: BlockingConnection, topic: str) -> TopicConfig | None:
    """A topic's configuration on a broker; None where the broker does not have it.

    Brokers of 4.x answer for all topics (21) only, and not for one (351).
    """
    answer = broker.ask(RequestCode.GET_TOPIC_CONFIG, GetTopicConfigRequestHeader(topic=topic), fine=_ONE_CONFIG)
    if answer.code == ResponseCode.SUCCESS:
        return decode_body(TopicConfig, answer.body)
    if answer.code != _UNSUPPORTED:
        return None
    body = broker.ask(RequestCode.GET_ALL_TOPIC_CONFIG).body
    return decode_body(TopicConfigSerializeWrapper, body, most_entries=None).topic_config_table.get(topic)


def put_topic(broker: BlockingConnection, config: TopicConfig, *, message_type: str | None = None) -> None:
    """Create or change a topic (17); without a message type the topic keeps the one that it has."""
    broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header(config, message_type))


def topic_header(config: TopicConfig, message_type: str | None = None) -> CreateTopicRequestHeader:
    """The header of the request that creates or changes a topic."""
    return CreateTopicRequestHeader(
        topic=config.topic_name,
        default_topic=AUTO_CREATE_TOPIC,
        read_queue_nums=config.read_queue_nums,
        write_queue_nums=config.write_queue_nums,
        perm=config.perm,
        topic_filter_type=config.topic_filter_type,
        topic_sys_flag=config.topic_sys_flag,
        order=config.order,
        attributes=None if message_type is None else f"+{MESSAGE_TYPE}={message_type}",
    )


def delete_topic(broker: BlockingConnection, topic: str) -> None:
    """Delete a topic with its queues and the offsets of all groups in it (215)."""
    broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic=topic))


def queue_ends(broker: BlockingConnection, topic: str) -> dict[int, TopicOffset] | None:
    """Where the queues of a topic begin and end (202), by number; None where the broker does not have the topic."""
    fine = (ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST)
    answer = broker.ask(RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfoRequestHeader(topic=topic), fine=fine)
    if answer.code != ResponseCode.SUCCESS:
        return None
    table = decode_body(TopicStatsTable, answer.body, lenient_limit=None, most_entries=None).offset_table
    return {queue.queue_id: each for queue, each in sorted(table.items(), key=lambda item: item[0].queue_id)}
