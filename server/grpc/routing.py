"""QueryRoute and QueryAssignment: where a topic's queues are.

The address in the answer is the one that the client dialled, host and port: it reaches this server, whatever lies
between. Brokers of a server with several have an address each.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.acl.resources import PUB, SUB
from rocketwire.server.core.long_tasks import check_answer
from rocketwire.server.grpc.calls import Call, serve
from rocketwire.server.grpc.settings import group_config_request
from rocketwire.server.grpc.statuses import OK, code_of_reply
from rocketwire.server.grpc.tables.directories import GroupDirectory, TopicDirectory, TopicShare
from rocketwire.server.topics.message_types import MESSAGE_TYPE
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import Permission as Bits
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc.checks import check_group, check_topic
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.definition_pb2 import (
    Address,
    AddressScheme,
    Broker,
    Endpoints,
    MessageQueue,
    Permission,
    Resource,
)
from rocketwire.wire.grpc.queue_lists import QueueRun, listed_assignment, listed_assignments, listed_queues
from rocketwire.wire.grpc.service_pb2 import (
    QueryAssignmentRequest,
    QueryAssignmentResponse,
    QueryRouteRequest,
    QueryRouteResponse,
)
from rocketwire.wire.headers.route import CallRouteRequestHeader

_ANY_QUEUE: Final = -1
_TYPES: Final = ("NORMAL", "FIFO", "DELAY", "TRANSACTION")
_MIXED: Final = "MIXED"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingServices:
    """What routes are made from."""

    groups: GroupDirectory
    topics: TopicDirectory


def query_route(services: RoutingServices, call: Call, request: QueryRouteRequest) -> Operation[Any]:
    """All queues of a topic, with what may be done with each; those of several brokers alternate.

    Simple consumers receive from one after the other, and wait at each: what other brokers have must not wait for all
    queues of the first.
    """
    topic = request.topic
    check_topic(topic.name)
    _check_endpoints(request.endpoints)
    shares = yield from load_shares(services.topics, call, topic.name, PUB | SUB)
    of_brokers = [_queues(topic, _broker(share, request.endpoints), share.config) for share in shares]
    check_answer(sum(run.least for runs in of_brokers for run in runs))
    payload = bytearray(QueryRouteResponse(status=OK).SerializeToString())
    for in_turn in zip_longest(*map(listed_queues, of_brokers), fillvalue=b""):
        payload += b"".join(in_turn)
    return bytes(payload)


def _queues(topic: Resource, broker: Broker, config: TopicConfig) -> list[QueueRun]:
    """The queues of one broker: those that are only read or only written come first."""
    accepted = accepted_types(config)
    read = _readable(config)
    write = config.write_queue_nums if config.perm & Bits.WRITE else 0
    one, both = abs(read - write), min(read, write)

    def run(permission: Permission, first: int, count: int) -> QueueRun:
        queue = MessageQueue(topic=topic, permission=permission, broker=broker, accept_message_types=accepted)
        return QueueRun(queue, first, count)

    lone = Permission.READ if read > write else Permission.WRITE
    return [run(lone, 0, one), run(Permission.READ_WRITE, one, both)]


def query_assignment(services: RoutingServices, call: Call, request: QueryAssignmentRequest) -> Operation[Any]:
    """What a push consumer receives from: each readable queue of a group in order, otherwise each broker as a whole.

    Every member gets the same: POP shares out the messages.
    """
    topic, name = request.topic, request.group.name
    check_topic(topic.name)
    check_group(name)
    _check_endpoints(request.endpoints)
    shares = yield from load_shares(services.topics, call, topic.name, SUB, name)
    readable = [(share, queues) for share in shares if (queues := _readable(share.config)) > 0]
    if not readable:
        raise CallInvalid(Code.FORBIDDEN, f"no readable message queue of topic {topic.name}")
    if services.groups.needs_request(name):
        yield from serve(group_config_request(call, name))
    group = services.groups.get(name)
    ordered = group is not None and bool(group.consume_message_orderly)
    runs = []
    for share, queues in readable:
        broker = _broker(share, request.endpoints)
        queue = MessageQueue(topic=topic, permission=Permission.READ_WRITE, broker=broker)
        runs.append(QueueRun(queue, 0, queues if ordered else 1))
    check_answer(sum(run.least for run in runs))
    payload = bytearray(QueryAssignmentResponse(status=OK).SerializeToString())
    for run in runs:
        if ordered:
            payload += b"".join(listed_assignments(run))
        else:
            run.queue.id = _ANY_QUEUE
            payload += listed_assignment(run.queue)
    return bytes(payload)


def accepted_types(config: TopicConfig) -> tuple[str, ...]:
    """The names of the message types that 5.x clients may send to a topic: NORMAL where it has no type."""
    value = (config.attributes or {}).get(MESSAGE_TYPE)
    if value == _MIXED:
        return _TYPES
    return (value,) if value in _TYPES else _TYPES[:1]


def load_shares(
    topics: TopicDirectory, call: Call, topic: str, permission: int, group: str | None = None
) -> Operation[Sequence[TopicShare]]:
    """The shares of a topic, for a client that has the permission for what it wants to do there.

    Args:
        topics: The topics.
        call: The call.
        topic: The topic's name.
        permission: The bits of permissions of which the client needs one.
        group: The consumer group for which it needs `SUB` as well; None: for none.

    Raises:
        CallInvalid: the client lacks a permission, or there is no such topic.
    """
    header = CallRouteRequestHeader(topic=topic, permission=permission, consumer_group=group)
    (reply,) = yield from serve(call.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header))
    if reply.code != ResponseCode.SUCCESS:
        raise CallInvalid(code_of_reply(reply), reply.remark or "")
    return topics.shares(topic)


def _broker(share: TopicShare, dialled: Endpoints) -> Broker:
    """A broker of a route; without a separate address it is where the client connected to."""
    address = share.address
    if address is None:
        return Broker(name=share.broker, id=0, endpoints=dialled)
    endpoints = Endpoints(scheme=_scheme(address.host), addresses=[Address(host=address.host, port=address.port)])
    return Broker(name=share.broker, id=0, endpoints=endpoints)


def _scheme(host: str) -> AddressScheme:
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return AddressScheme.DOMAIN_NAME
    return AddressScheme.IPv4 if version == 4 else AddressScheme.IPv6


def _readable(config: TopicConfig) -> int:
    return config.read_queue_nums if config.perm & Bits.READ else 0


def _check_endpoints(endpoints: Endpoints) -> None:
    if not endpoints.addresses:
        raise CallInvalid(Code.ILLEGAL_ACCESS_POINT, "the endpoints have no address")
