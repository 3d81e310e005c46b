"""Resets of members that are on line, at brokers that only take a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.offset.reset import ResetPoint, ResetTarget
from rocketwire.cli.offset.reset import reset_target as target
from rocketwire.cli.offset.resetting import done
from rocketwire.cli.offset.show import OffsetMove
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.wire.addresses import parse_address
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import MessageModel, MessageQueue
from rocketwire.wire.bodies.online import ClientConnection as Client
from rocketwire.wire.bodies.online import ConsumerConnection, ResetOffsetBody
from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import FakeAnswer, FakeServer, fake_server

MOVE = OffsetMove(group="g", topic="T", broker="b", queue_id=1, before=5, after=3)
RESET = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
COMMIT = RequestCode.UPDATE_CONSUMER_OFFSET


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """A broker with one member of every group on line."""
    members = ConsumerConnection(connection_set=(Client(client_id="c"),), message_model=MessageModel.CLUSTERING)
    reported = ResetOffsetBody(offset_table={MessageQueue(topic="T", broker_name="b", queue_id=1): 3})
    with fake_server() as started:
        started.answers |= {
            RequestCode.GET_CONSUMER_CONNECTION_LIST: lambda _: FakeAnswer(body=encode_body(members)),
            RequestCode.UPDATE_CONSUMER_OFFSET: lambda _: FakeAnswer(),
            RESET: lambda _: FakeAnswer(body=encode_body(reported)),
        }
        yield started


@pytest.fixture
def broker(server: FakeServer) -> Iterator[BlockingConnection]:
    with BlockingConnection("broker", parse_address(server.address)) as connection:
        yield connection


@pytest.mark.parametrize(
    ("config", "attributes", "takes"),
    [
        (b"", True, True),  # this server
        (b"", False, False),  # 4.x
        (b"useServerSideResetOffset=true\n", True, True),  # 5.x
        (b"useServerSideResetOffset=false\n", True, False),
    ],
)
def test_only_some_brokers_take_an_offset(
    server: FakeServer, broker: BlockingConnection, config: bytes, attributes: bool, takes: bool
) -> None:
    server.answers[RequestCode.GET_BROKER_CONFIG] = lambda _: FakeAnswer(body=config)
    server.answers[RequestCode.GET_TOPIC_CONFIG] = lambda _: FakeAnswer(17 if attributes else 3, remark="no")
    wanted = ResetTarget(where=ResetPoint.OFFSET, value=3)
    if takes:
        assert done(broker, [MOVE], target=wanted, whole=True) == ([MOVE], 1)
        assert [ext["offset"] for code, ext in server.requests if code == RESET] == ["3"]
    else:
        with pytest.raises(CommandFailed, match="to a time in all queues only"):
            done(broker, [MOVE], target=wanted, whole=True)
        assert RESET not in [code for code, _ in server.requests]


@pytest.mark.parametrize("attributes", [True, False])
def test_a_group_without_members_is_set_by_the_broker_if_it_can(
    server: FakeServer, broker: BlockingConnection, attributes: bool
) -> None:
    """It knows which messages are out; the queues that it does not set are committed."""
    server.answers[RequestCode.GET_CONSUMER_CONNECTION_LIST] = lambda _: FakeAnswer(206, remark="not online")
    server.answers[RequestCode.GET_BROKER_CONFIG] = lambda _: FakeAnswer()
    server.answers[RequestCode.GET_TOPIC_CONFIG] = lambda _: FakeAnswer(17 if attributes else 3, remark="no")
    other = replace(MOVE, queue_id=2)
    assert done(broker, [MOVE, other], target=ResetTarget(where=ResetPoint.EARLIEST), whole=True) == ([MOVE, other], 0)
    assert done(broker, [MOVE], target=ResetTarget(where=ResetPoint.OFFSET, value=3), whole=True) == ([MOVE], 0)
    requested = [(code, ext.get("queueId")) for code, ext in server.requests if code in (RESET, COMMIT)]
    assert requested == [(RESET, None), (COMMIT, "2"), (RESET, "1") if attributes else (COMMIT, "1")]


def test_an_account_that_may_not_reset_commits(server: FakeServer, broker: BlockingConnection) -> None:
    server.answers[RequestCode.GET_CONSUMER_CONNECTION_LIST] = lambda _: FakeAnswer(206, remark="not online")
    server.answers[RESET] = lambda _: FakeAnswer(16, remark="no")
    assert done(broker, [MOVE], target=ResetTarget(where=ResetPoint.LATEST), whole=True) == ([MOVE], 0)
    assert server.requests[-1][0] == COMMIT


def test_members_that_leave_meanwhile(server: FakeServer, broker: BlockingConnection) -> None:
    server.answers[RESET] = lambda _: FakeAnswer(206, remark="Consumer not online")
    assert done(broker, [MOVE], target=ResetTarget(where=ResetPoint.EARLIEST), whole=True) == ([MOVE], 0)
    assert server.requests[-1][0] == RequestCode.UPDATE_CONSUMER_OFFSET
    assert server.requests[-1][1]["commitOffset"] == "3"


@pytest.mark.parametrize(
    ("text", "wanted", "timestamp"),
    [
        ("earliest", ResetTarget(where=ResetPoint.EARLIEST), 0),
        ("latest", ResetTarget(where=ResetPoint.LATEST), -1),
        ("1234567890", ResetTarget(where=ResetPoint.OFFSET, value=1234567890), None),
        ("12345678901", ResetTarget(where=ResetPoint.TIME, value=12345678901), 12345678901),
        ("1970-01-01T00:00:01Z", ResetTarget(where=ResetPoint.TIME, value=1000), 1000),
    ],
)
def test_places(text: str, wanted: ResetTarget, timestamp: int | None) -> None:
    assert target(text) == wanted
    if timestamp is not None:
        assert target(text).timestamp == timestamp
