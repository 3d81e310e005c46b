"""The queues of a topic, and the types of messages that may be sent to it."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.sdk import DIALLED, Sdk, code_of, create_group, topic
from tests.server.harness import Client


def route(name: str = "T", endpoints: d.Endpoints = DIALLED) -> s.QueryRouteRequest:
    return s.QueryRouteRequest(topic=topic(name), endpoints=endpoints)


async def test_a_route_has_the_address_that_the_client_dialled(sdk: Sdk) -> None:
    response = await sdk.call("QueryRoute", route())
    assert code_of(response) is Code.OK
    assert [(queue.id, queue.permission) for queue in response.message_queues] == [
        (0, d.READ_WRITE),
        (1, d.READ_WRITE),
    ]
    for queue in response.message_queues:
        assert queue.topic.name == "T"
        assert (queue.broker.name, queue.broker.id) == ("broker-a", 0)
        assert queue.broker.endpoints == DIALLED
        assert queue.accept_message_types == [d.NORMAL]


async def test_read_only_and_write_only_queues_come_first(sdk: Sdk, broker: Client) -> None:
    await broker.create_topic("R", 4, write_queue_nums=2)
    await broker.create_topic("W", 1, write_queue_nums=2)
    await broker.create_topic("N", 1, perm=4)
    found = {}
    for name in "RWN":
        response = await sdk.call("QueryRoute", route(name))
        found[name] = [queue.permission for queue in response.message_queues]
    assert found == {
        "R": [d.READ, d.READ, d.READ_WRITE, d.READ_WRITE],
        "W": [d.WRITE, d.READ_WRITE],
        "N": [d.READ],
    }


@pytest.mark.parametrize(
    ("attribute", "accepted"),
    [
        ("FIFO", [d.FIFO]),
        ("TRANSACTION", [d.TRANSACTION]),
        ("DELAY", [d.DELAY]),
        ("UNSPECIFIED", [d.NORMAL]),
        ("MIXED", [d.NORMAL, d.FIFO, d.DELAY, d.TRANSACTION]),
    ],
)
async def test_a_topic_accepts_its_type(sdk: Sdk, broker: Client, attribute: str, accepted: list[int]) -> None:
    await broker.create_topic("typed", 1, attributes=f"+message.type={attribute}")
    response = await sdk.call("QueryRoute", route("typed"))
    assert list(response.message_queues[0].accept_message_types) == accepted


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (route("unknown"), Code.TOPIC_NOT_FOUND),
        (route("bad name"), Code.ILLEGAL_TOPIC),
        (route(""), Code.ILLEGAL_TOPIC),
        (route("RMQ_SYS_TRANS_HALF_TOPIC"), Code.ILLEGAL_TOPIC),
        (route(endpoints=d.Endpoints()), Code.ILLEGAL_ACCESS_POINT),
    ],
)
async def test_an_invalid_query_of_a_route_is_refused(sdk: Sdk, request_: Any, code: Code) -> None:
    response = await sdk.call("QueryRoute", request_)
    assert code_of(response) is code
    assert not response.message_queues


def assignment(group: str = "G", name: str = "T") -> s.QueryAssignmentRequest:
    return s.QueryAssignmentRequest(topic=topic(name), group=d.Resource(name=group), endpoints=DIALLED)


async def test_every_consumer_is_assigned_the_broker_as_a_whole(sdk: Sdk) -> None:
    response = await sdk.call("QueryAssignment", assignment())
    assert code_of(response) is Code.OK
    (only,) = response.assignments
    assert only.message_queue.id == -1
    assert only.message_queue.broker.endpoints == DIALLED


async def test_an_ordered_group_is_assigned_each_queue(sdk: Sdk, broker: Client) -> None:
    await create_group(broker, "ordered", consume_message_orderly=True)
    response = await sdk.call("QueryAssignment", assignment("ordered"))
    assert [each.message_queue.id for each in response.assignments] == [0, 1]


async def test_an_invalid_query_of_assignments_is_refused(sdk: Sdk, broker: Client) -> None:
    await broker.create_topic("W", 1, perm=2)
    codes = [
        code_of(await sdk.call("QueryAssignment", each))
        for each in (assignment(name="unknown"), assignment("bad group"), assignment(name="W"))
    ]
    assert codes == [Code.TOPIC_NOT_FOUND, Code.ILLEGAL_CONSUMER_GROUP, Code.FORBIDDEN]
