from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.wire.bodies.client import ConsumeFromWhere, ConsumerData, ConsumeType, MessageModel
from rocketwire.wire.facts.codes import RequestCode
from tests.server.busy_loop import BusyLoop
from tests.server.harness import FakePeer, consumer, mock_clock, settle, subscription

NOTIFICATION = (RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": "G"})


def join(groups: ClientGroups, peer: FakePeer, data: ConsumerData, client_id: str = "one") -> None:
    groups.register_consumer(peer, client_id, data, language="JAVA", version=407)


async def test_a_group_exists_while_it_has_members() -> None:
    groups = ClientGroups(lambda _: True)
    peer = FakePeer()
    assert groups.consumer("G") is None
    join(groups, peer, consumer("G", subscription("T")))
    group = groups.consumer("G")
    assert group is not None
    assert group.client_ids() == ["one"]
    groups.unregister_consumer(peer, "G")
    assert groups.consumer("G") is None


async def test_the_newest_heartbeat_decides_how_the_group_consumes() -> None:
    groups = ClientGroups(lambda _: True)
    peer = FakePeer()
    join(groups, peer, consumer("G", subscription("T")))
    group = groups.consumer("G")
    assert group is not None
    before = group.broadcasting
    join(
        groups,
        peer,
        consumer(
            "G",
            subscription("T"),
            consume_type=ConsumeType.CONSUME_ACTIVELY,
            message_model=MessageModel.BROADCASTING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        ),
    )
    assert (before, group.broadcasting) == (False, True)
    assert group.consume_type is ConsumeType.CONSUME_ACTIVELY
    assert group.consume_from_where is ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


async def test_a_subscription_is_replaced_by_a_newer_one_only() -> None:
    groups = ClientGroups(lambda _: True)
    peer = FakePeer()
    join(groups, peer, consumer("G", subscription("T", "A", version=5)))
    group = groups.consumer("G")
    assert group is not None
    join(groups, peer, consumer("G", subscription("T", "B", version=4)))
    assert group.subscriptions["T"].sub_string == "A"
    join(groups, peer, consumer("G", subscription("T", "B", version=6)))
    assert group.subscriptions["T"].sub_string == "B"


async def test_a_topic_no_longer_subscribed_is_forgotten_and_members_are_notified() -> None:
    groups = ClientGroups(lambda _: True)
    peer = FakePeer()
    join(groups, peer, consumer("G", subscription("T"), subscription("U")))
    join(groups, peer, consumer("G", subscription("U")))
    group = groups.consumer("G")
    assert group is not None
    assert list(group.subscriptions) == ["U"]
    assert peer.pushed == [NOTIFICATION] * 2


async def test_members_are_not_notified_if_the_group_does_not_want_that() -> None:
    groups = ClientGroups(lambda group: group != "G")
    peer = FakePeer()
    join(groups, peer, consumer("G", subscription("T")))
    assert peer.pushed == []
    join(groups, peer, consumer("H", subscription("T")))
    assert peer.pushed == [(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": "H"})]


async def test_producers_are_found_until_they_unregister() -> None:
    groups = ClientGroups(lambda _: True)
    first, second = FakePeer("1"), FakePeer("2")
    for peer in (first, second):
        groups.register_producer(peer, "id" + peer.name, "P", language="GO", version=1)
    assert [(peer, member.client_id) for peer, member in groups.producers("P")] == [(first, "id1"), (second, "id2")]
    groups.unregister_producer(first, "P")
    groups.unregister_producer(first, "Other")
    assert [peer for peer, _ in groups.producers("P")] == [second]
    groups.unregister_producer(second, "P")
    assert groups.producers("P") == []


async def test_members_without_a_heartbeat_are_forgotten_after_120_s(nursery: trio.Nursery) -> None:
    groups = ClientGroups(lambda _: True)
    nursery.start_soon(groups.run, BackgroundBudget())
    lively, silent = FakePeer("1"), FakePeer("2")
    for peer in (lively, silent):
        join(groups, peer, consumer("G", subscription("T")), peer.name)
        groups.register_producer(peer, peer.name, "P", language="GO", version=1)
    for _ in range(12):
        await settle()
        mock_clock().jump(10)
        join(groups, lively, consumer("G", subscription("T")), "1")
        groups.register_producer(lively, "1", "P", language="GO", version=1)
    await settle()
    group = groups.consumer("G")
    assert group is not None
    assert group.client_ids() == ["1", "2"]
    mock_clock().jump(10)
    await settle()
    assert group.client_ids() == ["1"]
    assert [peer for peer, _ in groups.producers("P")] == [lively]


async def test_a_member_is_found_by_its_client_id() -> None:
    groups = ClientGroups(lambda _: True)
    first, second, again = FakePeer("1"), FakePeer("2"), FakePeer("3")
    join(groups, first, consumer("G", subscription("T")), "one")
    join(groups, second, consumer("G", subscription("T")), "two")
    mock_clock().jump(1)
    join(groups, again, consumer("G", subscription("T")), "one")
    assert groups.consumer_by_client_id("G", "two") is second
    assert groups.consumer_by_client_id("G", "one") is again
    groups.peer_closed(again)
    assert groups.consumer_by_client_id("G", "one") is first
    assert groups.consumer_by_client_id("G", "three") is None
    assert groups.consumer_by_client_id("Other", "one") is None


async def test_a_producer_is_found_by_its_client_id() -> None:
    groups = ClientGroups(lambda _: True)
    peer, other = FakePeer("1"), FakePeer("2")

    def register(peer: FakePeer, group: str) -> None:
        groups.register_producer(peer, "one", group, language="JAVA", version=0)

    assert groups.producer_by_client_id("one") is None
    register(peer, "G")
    register(peer, "H")
    groups.unregister_producer(peer, "G")
    assert groups.producer_by_client_id("one") is peer
    groups.unregister_producer(peer, "H")
    assert groups.producer_by_client_id("one") is None
    register(peer, "G")
    register(other, "H")
    assert groups.producer_by_client_id("one") is other
    groups.peer_closed(peer)
    assert groups.producer_by_client_id("one") is other
    groups.peer_closed(other)
    assert groups.producer_by_client_id("one") is None


async def test_the_groups_of_a_topic_are_found() -> None:
    groups = ClientGroups(lambda _: True)
    peer = FakePeer()
    join(groups, peer, consumer("G", subscription("T"), subscription("U")))
    join(groups, peer, consumer("H", subscription("T")))
    assert (groups.groups_of("T"), groups.groups_of("U"), groups.groups_of("V")) == (["G", "H"], ["G"], [])
    groups.unregister_consumer(peer, "G")
    assert groups.groups_of("T") == ["H"]


async def test_the_end_of_a_group_is_reported_once() -> None:
    groups = ClientGroups(lambda _: True)
    ended: list[str] = []
    groups.emptied.subscribe(ended.append)
    first, second = FakePeer(), FakePeer("127.0.0.1:2000")
    for peer in (first, second):
        join(groups, peer, consumer("G", subscription("T")))
    groups.unregister_consumer(first, "G")
    assert ended == []
    groups.peer_closed(second)
    groups.unregister_consumer(second, "G")
    assert ended == ["G"]


async def test_subscribers_are_notified_when_a_group_consumes_otherwise() -> None:
    groups = ClientGroups(lambda _: True)
    notified: list[MessageModel | None] = []

    def note_model() -> None:
        group = groups.consumer("G")
        notified.append(None if group is None else group.message_model)

    groups.resubscribed.subscribe(note_model)
    first, second = FakePeer(), FakePeer("127.0.0.1:2000")
    plain = consumer("G", subscription("T"))
    for peer in (first, second):
        join(groups, peer, plain)
        join(groups, peer, plain)
    assert notified == [MessageModel.CLUSTERING]
    for changed in (
        consumer("G", subscription("T"), subscription("U")),
        consumer("G", subscription("U")),
        consumer("G", subscription("U", "A", version=2)),
        consumer("G", subscription("U", "A", version=2), message_model=MessageModel.BROADCASTING),
    ):
        notified.clear()
        join(groups, first, changed)
        join(groups, first, changed)
        assert notified == [changed.message_model]
    groups.unregister_consumer(first, "G")
    notified.clear()
    groups.unregister_consumer(second, "G")
    assert notified == [None]


async def test_the_older_connection_of_a_producer_is_found_when_the_newer_closes() -> None:
    groups = ClientGroups(lambda _: True)
    older, newer = FakePeer("1"), FakePeer("2")
    for peer in (older, newer):
        groups.register_producer(peer, "one", "P", language="JAVA", version=0)
    assert groups.producer_by_client_id("one") is newer
    groups.register_producer(older, "one", "P", language="JAVA", version=0)
    assert groups.producer_by_client_id("one") is older
    groups.peer_closed(older)
    assert groups.producer_by_client_id("one") is newer
    groups.peer_closed(newer)
    assert groups.producer_by_client_id("one") is None


async def test_client_ids_that_a_connection_had_before_are_forgotten() -> None:
    groups = ClientGroups(lambda _: True)
    peer = FakePeer()
    for number in range(1000):
        groups.register_producer(peer, f"id{number}", "P", language="JAVA", version=0)
    assert list(groups._producer_peers) == ["id999"]
    groups.register_producer(peer, "other", "Q", language="JAVA", version=0)
    assert (groups.producer_by_client_id("id999"), groups.producer_by_client_id("other")) == (peer, peer)
    groups.peer_closed(peer)
    assert groups._producer_peers == {}


async def run_for_a_moment(groups: ClientGroups) -> None:
    """Let the task do the work that is too much for one step."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(groups.run, BackgroundBudget())
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


async def test_many_members_are_notified_in_steps_and_once_after_many_changes() -> None:
    groups = ClientGroups(lambda _: True)
    peers = [FakePeer(str(number)) for number in range(300)]
    for peer in peers:
        join(groups, peer, consumer("G", subscription("T")), peer.name)
    notified = [len(peer.pushed) for peer in peers]
    assert sum(notified) <= 64
    await run_for_a_moment(groups)
    assert [len(peer.pushed) - before for peer, before in zip(peers, notified, strict=True)] == [1] * 300


async def test_closing_a_connection_of_many_groups_examines_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = ClientGroups(lambda _: True)
    accesses = 0

    class Counted(FakePeer):
        def __hash__(self) -> int:  # of every access to a table of connections
            nonlocal accesses
            accesses += 1
            return 1

    staying, leaving = Counted(), Counted()
    for peer in (staying, leaving):
        for number in range(300):
            groups.register_producer(peer, peer.name, f"{id(peer)}-{number}", language="JAVA", version=0)
    accesses = 0
    groups.peer_closed(leaving)
    await run_for_a_moment(groups)
    assert groups.producers(f"{id(leaving)}-0") == []
    assert groups.producer_by_client_id(leaving.name) is staying
    assert accesses < 20 * 300


async def test_a_connection_that_closes_during_notifications_leaves_its_groups() -> None:
    """Work that came to the busy task used to wait for the next of its kind, maybe without end."""
    groups = ClientGroups(lambda _: True)
    leaving = FakePeer("leaving")
    for number in range(100):
        join(groups, leaving, consumer(f"G{number}", subscription("T")))

    class Closes(FakePeer):
        def push(self, code: int, ext: dict[str, str], body: bytes = b"") -> None:
            super().push(code, ext, body)
            groups.peer_closed(leaving)

    peers = [Closes(str(number)) for number in range(100)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(groups.run, BackgroundBudget())
        await trio.testing.wait_all_tasks_blocked()
        for peer in peers:
            join(groups, peer, consumer("G", subscription("T")), peer.name)
        await trio.testing.wait_all_tasks_blocked()
        assert [number for number in range(100) if groups.consumer(f"G{number}")] == []
        nursery.cancel_scope.cancel()


async def test_silent_members_are_removed_in_steps_with_one_log_line(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    groups, loop = ClientGroups(lambda _: True), BusyLoop(tick=0.000_1)
    nursery.start_soon(groups.run, loop.budget)
    peers = [FakePeer(str(number)) for number in range(500)]
    for peer in peers:
        join(groups, peer, consumer("G", subscription("T")), peer.name)
    caplog.clear()
    loop.keep_busy()
    for _ in range(13):
        await settle()
        mock_clock().jump(10)
    await settle()
    assert groups.consumer("G") is None
    assert loop.rests
    lines = [line for line in caplog.messages if "no heartbeat" in line]
    assert [line.partition(",")[0] for line in lines] == ["500 consumers sent no heartbeat"]
