"""The subscriptions of a consumer group's members, and whether they agree."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import pytest

from rocketwire.server.clients import consistency
from rocketwire.server.clients.groups import ClientGroups
from tests.server.clients.test_groups import join, run_for_a_moment
from tests.server.harness import FakePeer, consumer, subscription


async def test_each_member_keeps_its_own_subscriptions_and_the_newest_is_served() -> None:
    groups = ClientGroups(lambda _: True)
    first, second = FakePeer("1"), FakePeer("2")
    join(groups, first, consumer("G", subscription("T", "A", version=5)), "one")
    join(groups, second, consumer("G", subscription("T", "B", version=4)), "two")
    group = groups.consumer("G")
    assert group is not None
    assert [member.subscriptions["T"].sub_string for member in group.members.values()] == ["A", "B"]
    assert group.subscriptions["T"].sub_string == "A"


async def test_a_disagreement_is_logged_once_a_change(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rocketwire.server.clients.members")
    groups = ClientGroups(lambda _: True)
    first, second = FakePeer("1"), FakePeer("2")

    def logged() -> list[tuple[str, str]]:
        lines = [(record.levelname, record.getMessage()) for record in caplog.records]
        caplog.clear()
        return lines

    join(groups, first, consumer("G", subscription("T", "A || B")), "one")
    join(groups, second, consumer("G", subscription("T", "B || A")), "two")
    differently = (
        "consumer group G: its members write their subscriptions differently; "
        "T: 'A || B' at one; 'B || A' at two (means the same)"
    )
    assert logged() == [("INFO", differently)]
    join(groups, second, consumer("G", subscription("T", "B || A", version=2)), "two")
    assert logged() == []
    join(groups, second, consumer("G", subscription("U", version=3), subscription("T", "B || A", version=2)), "two")
    disagree = (
        "consumer group G: its members disagree, so messages may be lost to it; "
        "T: 'A || B' at one; 'B || A' at two (means the same) / U: '*' at two; nothing at one"
    )
    assert logged() == [("WARNING", disagree)]
    join(groups, FakePeer("3"), consumer("G", subscription("T", "A || B")), "three")
    assert logged() == []
    join(groups, first, consumer("G", subscription("T", "A || B")), "one")
    assert logged() == []
    groups.unregister_consumer(second, "G")
    assert logged() == [("INFO", "consumer group G: its members subscribe to the same again")]
    groups.unregister_consumer(first, "G")
    assert logged() == []


async def test_a_disagreement_of_many_members_is_logged_in_short(caplog: pytest.LogCaptureFixture) -> None:
    groups = ClientGroups(lambda _: True)
    for number in range(200):
        join(groups, FakePeer(str(number)), consumer("G", subscription("T", f"tag{number}")), str(number))
    await run_for_a_moment(groups)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 128  # those above compare them in steps, all that have joined in one
    assert "T: 'tag0' at 0; 'tag1' at 1; 'tag10' at 10" in lines[-1]
    assert max(map(len, lines)) < 2100
    assert lines[-1].endswith(" …")


async def test_a_member_that_changes_its_subscriptions_is_noticed_at_any_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    peers = [FakePeer(str(number)) for number in range(4)]
    for changing in range(4):
        groups = ClientGroups(lambda _: True)
        for peer in peers:
            join(groups, peer, consumer("G", subscription("T", "A")), peer.name)
        group = groups.consumer("G")
        assert group is not None
        assert (group.differences, caplog.records) == ((), [])
        join(groups, peers[changing], consumer("G", subscription("T", "B", version=2)), str(changing))
        assert [len(side.client_ids) for side in group.differences[0].variants] == [3, 1]
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        caplog.clear()


async def test_a_member_that_joins_or_leaves_a_large_group_is_compared_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0
    each_difference = consistency.each_difference

    def counted(
        group: str, members: Sequence[tuple[str, consistency.Subscriptions]]
    ) -> Iterator[consistency.SubscriptionDifference | None]:
        nonlocal compared
        compared += len(members)
        return each_difference(group, members)

    monkeypatch.setattr("rocketwire.server.clients.members.each_difference", counted)
    groups = ClientGroups(lambda _: False)
    peers = [FakePeer(str(number)) for number in range(1000)]
    for peer in peers:
        join(groups, peer, consumer("G", subscription("T")), peer.name)
    group = groups.consumer("G")
    assert group is not None
    assert len(group.client_ids()) == 1000
    for peer in peers:
        groups.peer_closed(peer)
    await run_for_a_moment(groups)
    assert groups.consumer("G") is None
    assert compared <= 2 * 2 * 1000


async def test_members_with_many_differences_are_compared_in_steps(caplog: pytest.LogCaptureFixture) -> None:
    """The largest heartbeat, in a group whose members do not agree, made others wait for 60 ms."""
    caplog.set_level(logging.INFO, "rocketwire.server.clients.members")
    groups = ClientGroups(lambda _: False)
    first, second = FakePeer("1"), FakePeer("2")
    many = [subscription(f"T{number}") for number in range(4000)]
    join(groups, first, consumer("G", subscription("T")), "one")
    join(groups, second, consumer("G", *many), "two")
    group = groups.consumer("G")
    assert group is not None
    assert (group.differences, caplog.records) == ((), [])
    assert not group.agrees_with(None)  # before the difference is known
    assert sum(1 for _ in group.compare()) == 2 + 4001
    assert len(group.differences) == 4001
    caplog.clear()
    join(groups, first, consumer("G", *many), "one")
    assert len(group.differences) == 4001
    await run_for_a_moment(groups)
    assert group.differences == ()
    assert [record.getMessage() for record in caplog.records] == [
        "consumer group G: its members subscribe to the same again"
    ]
