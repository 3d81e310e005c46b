"""Creating topics and groups."""

from __future__ import annotations

from rocketwire.remoting.admin.topics import topic_header
from rocketwire.remoting.core.client import ClientCore
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.core.steps import Operation, RemoteServer
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import RequestCode


def create_topic(
    client: ClientCore, broker: RemoteServer, name: str, *, queues: int, order: bool, message_type: str | None
) -> Operation[None]:
    """Create or change a topic.

    Raises:
        Refused: the broker does not do it; its remark says why.
        NotReached: it does not answer.
    """
    config = TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues, order=order)
    fields = topic_header(config, message_type)
    yield from client.ask(broker, ClientRequest(RequestCode.UPDATE_AND_CREATE_TOPIC, fields))
    client.expire_route(name)


def create_group(client: ClientCore, broker: RemoteServer, name: str, *, retries: int) -> Operation[None]:
    """Create or change a consumer group, whose messages are tried again so many times.

    Raises:
        Refused, NotReached: as with `create_topic`.
    """
    body = encode_body(SubscriptionGroupConfig(group_name=name, retry_max_times=retries))
    yield from client.ask(broker, ClientRequest(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body))
