"""QueryRoute and QueryAssignment: where a topic's queues are.

The address in the answer is the one that the client dialled, host and port: it reaches this broker, whatever lies
between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import Live
from rocketwire.server.grpc.calls import Asking, Call
from rocketwire.server.grpc.statuses import OK, status_of_reply
from rocketwire.server.topics.message_types import MESSAGE_TYPE
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.codes import Permission as Bits
from rocketwire.wire.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc.checks import check_group, check_topic
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.grpc.definition_pb2 import (
    Assignment,
    Broker,
    Endpoints,
    MessageQueue,
    Permission,
)
from rocketwire.wire.grpc.errors import CallInvalid
from rocketwire.wire.grpc.service_pb2 import (
    QueryAssignmentRequest,
    QueryAssignmentResponse,
    QueryRouteRequest,
    QueryRouteResponse,
)
from rocketwire.wire.headers.route import GetRouteInfoRequestHeader

_ANY_QUEUE: Final = -1
_TYPES: Final = ("NORMAL", "FIFO", "DELAY", "TRANSACTION")
_MIXED: Final = "MIXED"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingServices:
    """What routes are made from."""

    broker_keys: Live[BrokerKeys]
    groups: SubscriptionGroups
    topics: BrokerTopics


def query_route(services: RoutingServices, call: Call, request: QueryRouteRequest) -> Asking:
    """All queues of a topic, with what may be done with each."""
    topic = request.topic
    check_topic(topic.name)
    _check_endpoints(request.endpoints)
    config = yield from _config(services, call, topic.name)
    if not isinstance(config, TopicConfig):
        return QueryRouteResponse(status=config)
    broker = _broker(services, request.endpoints)
    accepted = accepted_types(config)
    response = QueryRouteResponse(status=OK)
    for queue_id, permission in enumerate(_permissions(config)):
        response.message_queues.append(
            MessageQueue(topic=topic, id=queue_id, permission=permission, broker=broker, accept_message_types=accepted)
        )
    return response


def query_assignment(services: RoutingServices, call: Call, request: QueryAssignmentRequest) -> Asking:
    """What a push consumer receives from: each readable queue of a group in order, otherwise the broker as a whole.

    Every member gets the same: POP shares out the messages.
    """
    topic = request.topic
    check_topic(topic.name)
    check_group(request.group.name)
    _check_endpoints(request.endpoints)
    config = yield from _config(services, call, topic.name)
    if not isinstance(config, TopicConfig):
        return QueryAssignmentResponse(status=config)
    readable = config.read_queue_nums if config.perm & Bits.READ else 0
    if readable <= 0:
        raise CallInvalid(Code.FORBIDDEN, f"no readable message queue of topic {topic.name}")
    group = services.groups.table.get(request.group.name)
    ordered = group is not None and bool(group.consume_message_orderly)
    broker = _broker(services, request.endpoints)
    response = QueryAssignmentResponse(status=OK)
    for queue_id in range(readable) if ordered else (_ANY_QUEUE,):
        queue = MessageQueue(topic=topic, id=queue_id, permission=Permission.READ_WRITE, broker=broker)
        response.assignments.append(Assignment(message_queue=queue))
    return response


def accepted_types(config: TopicConfig) -> tuple[str, ...]:
    """The names of the message types that 5.x clients may send to a topic: NORMAL where it has no type."""
    value = (config.attributes or {}).get(MESSAGE_TYPE)
    if value == _MIXED:
        return _TYPES
    return (value,) if value in _TYPES else _TYPES[:1]


def _config(services: RoutingServices, call: Call, topic: str) -> Asking:
    """The topic's configuration, or the status of a refusal."""
    (reply,) = yield (call.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic=topic)),)
    if reply.code != ResponseCode.SUCCESS:
        return status_of_reply(reply)
    return services.topics.get(topic)


def _check_endpoints(endpoints: Endpoints) -> None:
    if not endpoints.addresses:
        raise CallInvalid(Code.ILLEGAL_ACCESS_POINT, "the endpoints have no address")


def _broker(services: RoutingServices, endpoints: Endpoints) -> Broker:
    keys = services.broker_keys.current
    return Broker(name=keys.broker_name, id=0, endpoints=endpoints)


def _permissions(config: TopicConfig) -> Iterator[Permission]:
    """The permission of each queue: those that are only read or only written come first."""
    read = config.read_queue_nums if config.perm & Bits.READ else 0
    write = config.write_queue_nums if config.perm & Bits.WRITE else 0
    both = min(read, write)
    for _ in range(read - both):
        yield Permission.READ
    for _ in range(write - both):
        yield Permission.WRITE
    for _ in range(both):
        yield Permission.READ_WRITE
