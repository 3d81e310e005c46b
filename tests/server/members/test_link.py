"""A broker that a supervisor has started as one of several: what it reports, and what it takes from the others."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.members.link import SupervisorLink
from rocketwire.server.members.news import LineReader, MemberNews, news_lines, read_news
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from tests.server.grpc.sdk import DIALLED, Sdk, topic
from tests.server.harness import Client, Server, consumer, heartbeat, serving, settle, warnings

SIBLING = "127.0.0.1:10921"


class Member(NamedTuple):
    """A broker, and the supervisor's side of its link."""

    server: Server
    client: Client
    reports: trio.abc.ReceiveStream
    orders: trio.abc.SendStream

    async def news(self) -> MemberNews:
        """The next report of the broker."""
        lines = await LineReader(self.reports).receive()
        assert lines is not None
        (line,) = lines
        return read_news(line)

    async def report(self, *lines: bytes) -> None:
        """Report what another broker has."""
        await self.orders.send_all(b"".join(lines))
        await settle()


@contextlib.asynccontextmanager
async def member(store: Path) -> AsyncIterator[Member]:
    ours, theirs = trio.testing.memory_stream_one_way_pair()
    orders, received = trio.testing.memory_stream_one_way_pair()
    async with serving(store, supervisor=SupervisorLink(ours, received)) as server:
        yield Member(server, server.broker(), theirs, orders)


def config(name: str, queues: int = 4) -> TopicConfig:
    return TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues)


async def test_new_changed_and_removed_topics_are_reported(tmp_path: Path) -> None:
    async with member(tmp_path) as own:
        await own.client.create_topic("T", 2)
        news = await own.news()
        assert (news.broker, news.address) == ("broker-a", str(own.server.advertised))
        assert [(each.topic_name, each.write_queue_nums) for each in news.topics] == [("T", 2)]
        await own.client.create_topic("T", 3)
        assert [each.write_queue_nums for each in (await own.news()).topics] == [3]
        await own.client.request(215, {"topic": "T"})
        news = await own.news()
        assert (news.topics, news.removed) == ((), ("T",))


async def test_topics_of_groups_and_of_the_broker_are_not_reported(tmp_path: Path) -> None:
    async with member(tmp_path) as own:
        await own.client.request(34, {}, heartbeat("c", consumer("G")))
        await own.client.create_topic("T")
        assert [each.topic_name for each in (await own.news()).topics] == ["T"]


async def test_a_topic_that_is_new_at_another_broker_is_created(tmp_path: Path) -> None:
    async with member(tmp_path) as own:
        await own.client.create_topic("here", 2)
        typed = TopicConfig(topic_name="typed", attributes={"message.type": "FIFO"})
        await own.report(*news_lines("broker-b", SIBLING, [config("T", 3), config("here", 7), typed]))
        route = await own.server.name_server().request(105, {"topic": "T", "acceptStandardJsonOnly": "true"})
        assert b'"writeQueueNums":3' in route.body
        route = await own.server.name_server().request(105, {"topic": "here", "acceptStandardJsonOnly": "true"})
        assert b'"writeQueueNums":2' in route.body
        shown = await own.client.request(351, {"topic": "typed"})
        assert b'"message.type":"FIFO"' in shown.body


async def test_a_topic_removed_here_is_not_created_again_when_it_changes_elsewhere(tmp_path: Path) -> None:
    async with member(tmp_path) as own:
        await own.report(*news_lines("broker-b", SIBLING, [config("T")]))
        await own.client.request(215, {"topic": "T"})
        await own.report(*news_lines("broker-b", SIBLING, [config("T", 8)]))
        assert (await own.client.request(351, {"topic": "T"})).header.code != 0


async def test_one_topic_that_cannot_be_created_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with member(tmp_path) as own:
        await own.report(*news_lines("broker-b", SIBLING, [config("a"), config("b", 1 << 20), config("c")]))
        for name, code in (("a", 0), ("c", 0), ("b", 17)):
            assert (await own.client.request(351, {"topic": name})).header.code == code
    assert [each for each in warnings(caplog) if each.startswith("topic b of another broker could not be created")]


def endpoints(address: str) -> d.Endpoints:
    host, _, port = address.rpartition(":")
    return d.Endpoints(scheme=d.IPv4, addresses=[d.Address(host=host, port=int(port))])


async def test_a_route_of_5x_has_the_queues_of_all_brokers_at_their_addresses(tmp_path: Path) -> None:
    async with member(tmp_path) as own:
        await own.client.create_topic("T", 1)
        await own.report(*news_lines("broker-b", SIBLING, [config("T", 2)]))
        with Sdk(own.server.broker_address) as sdk:
            route = await sdk.call("QueryRoute", s.QueryRouteRequest(topic=topic("T"), endpoints=DIALLED))
            found = [(each.broker.name, each.id, each.broker.endpoints) for each in route.message_queues]
            here, there = endpoints(str(own.server.advertised)), endpoints(SIBLING)
            assert found == [("broker-a", 0, here), ("broker-b", 0, there), ("broker-b", 1, there)]
            request = s.QueryAssignmentRequest(topic=topic("T"), group=topic("G"), endpoints=DIALLED)
            assignments = (await sdk.call("QueryAssignment", request)).assignments
            brokers = [each.message_queue.broker for each in assignments]
            assert [(each.name, each.endpoints) for each in brokers] == [("broker-a", here), ("broker-b", there)]
            await own.report(*news_lines("broker-b", None))
            route = await sdk.call("QueryRoute", s.QueryRouteRequest(topic=topic("T"), endpoints=DIALLED))
            assert [each.broker.name for each in route.message_queues] == ["broker-a"]


async def test_a_broker_stops_when_its_supervisor_ends(tmp_path: Path) -> None:
    async with member(tmp_path) as own:
        await own.orders.aclose()
        await settle()
        address = own.server.broker_address
        with pytest.raises(OSError, match="all attempts to connect"):
            await trio.open_tcp_stream(address.host, address.port)


@given(st.lists(st.integers(0, 1200), min_size=1, max_size=3), st.integers(1, 4000))
async def test_lines_are_read_as_they_were_written(counts: list[int], cut: int) -> None:
    written = [
        line
        for number, count in enumerate(counts)
        for line in news_lines(f"broker-{number}", SIBLING, [config(f"T{each}") for each in range(count)], ["gone"])
    ]
    data = b"".join(written)
    send, receive = trio.testing.memory_stream_one_way_pair()
    for start in range(0, len(data), cut * 100):
        await send.send_all(data[start : start + cut * 100])
    await send.aclose()
    reader = LineReader(receive)
    found: list[MemberNews] = []
    while (lines := await reader.receive()) is not None:
        found += map(read_news, lines)
    assert sum(len(each.topics) for each in found) == sum(counts)
    assert [each.broker for each in found if each.removed] == [f"broker-{number}" for number in range(len(counts))]
    assert max(len(each.topics) for each in found) <= 500
