"""Creating topics and groups."""

from __future__ import annotations

from rocketwire.remoting.admin.topics import topic_header
from rocketwire.remoting.core.client import Client
from rocketwire.remoting.core.session import Request
from rocketwire.remoting.core.steps import Operation, Peer
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.codes import RequestCode


def create_topic(
    client: Client, broker: Peer, name: str, *, queues: int, order: bool, message_type: str | None
) -> Operation[None]:
    """Create or change a topic.

    Raises:
        Refused: the broker does not do it; its remark says why.
        NotReached: it does not answer.
    """
    config = TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues, order=order)
    fields = topic_header(config, message_type)
    yield from client.ask(broker, Request(RequestCode.UPDATE_AND_CREATE_TOPIC, fields))
    client.renew(name)


def create_group(client: Client, broker: Peer, name: str, *, retries: int) -> Operation[None]:
    """Create or change a consumer group, whose messages are tried again so many times.

    Raises:
        Refused, NotReached: as with `create_topic`.
    """
    body = encode_body(SubscriptionGroupConfig(group_name=name, retry_max_times=retries))
    yield from client.ask(broker, Request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body))
