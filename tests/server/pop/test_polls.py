"""Held requests: which one is woken, in which order, and the effect of faults and of clients that left."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire.server.core.errors import ServiceUnavailable, TopicNotFound
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import LongTaskScheduler
from rocketwire.server.core.request import Reply
from rocketwire.server.filters import EVERYTHING
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.messages.message_writer import NOT_STORED
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.pop import NotificationRequestHeader, PopMessageRequestHeader
from tests.server.harness import mock_clock, settle
from tests.server.pop.requests import popped
from tests.server.pop.reviving.test_reviver import bodies
from tests.server.pop.rooms import FakePeer, PopTimers, frame_of


def wait(room: PopTimers, peer: FakePeer | None = None, group: str = "G", **more: Any) -> FakePeer:
    """Send a pop that is held; its client."""
    peer = peer or FakePeer()
    values = {"queue_id": -1, "max_msg_nums": 2, "invisible_time": 10_000, "poll_time": 15_000, **more}
    fields = PopMessageRequestHeader(consumer_group=group, topic="T", born_time=0, init_mode=0, **values)
    assert room.request(RequestCode.POP_MESSAGE, fields, peer=peer) is None
    return peer


def received_bodies(peer: FakePeer) -> list[bytes]:
    """The bodies that a client received."""
    return [body for reply in peer.replies for body in bodies(popped(frame_of(reply)).messages)]


async def test_the_first_to_wait_is_the_first_to_receive(room: PopTimers) -> None:
    peers = [wait(room) for _ in range(3)]
    for number in range(2):
        room.put(b"%d" % number)
    assert [received_bodies(peer) for peer in peers] == [[b"0"], [b"1"], []]
    assert room.pops.held == 1


async def test_each_group_receives_the_message(room: PopTimers) -> None:
    peers = [wait(room, group=group) for group in ("G", "H", "I")]
    room.put(b"a")
    assert [received_bodies(peer) for peer in peers] == [[b"a"]] * 3


async def test_pops_with_different_filters_are_each_tried(room: PopTimers) -> None:
    first, second = wait(room, exp="A", exp_type="TAG"), wait(room)
    room.put(b"a")
    assert (received_bodies(first), received_bodies(second)) == ([], [])  # the first one skips it
    third = wait(room, queue_id=1)
    room.put(b"b", queue_id=1)
    assert received_bodies(third) == []
    room.pops.services.polls.peer_closed(first)
    room.put(b"c", queue_id=1)
    assert received_bodies(second) + received_bodies(third) == [b"c"]


async def test_a_consumer_that_left_receives_no_more(room: PopTimers) -> None:
    leaving, other_group = wait(room), wait(room, group="H")
    room.pops.consumer_left(leaving, "G")
    next_consumer = wait(room)
    room.put(b"a")
    assert (received_bodies(leaving), received_bodies(other_group), received_bodies(next_consumer)) == (
        [],
        [b"a"],
        [b"a"],
    )
    wait(room, leaving)  # a consumer that is started again on the same connection
    room.put(b"b")
    assert received_bodies(leaving) == [b"b"]


async def test_a_queue_that_is_released_wakes_held_pops(room: PopTimers) -> None:
    one, other = wait(room, queue_id=1), wait(room, group="H")
    room.offsets.commit("G", "T", 1, 0)
    polls = room.pops.services.polls
    polls.wake_queue(PopQueue("T", "G", 1))
    await settle()
    assert received_bodies(one) == received_bodies(other) == []
    assert polls.held == 2


async def test_a_client_that_leaves_during_the_flush_takes_nothing(
    room: PopTimers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its messages are visible to others at once, and count no try."""
    outcomes: list[Any] = []

    def later(appended: Any, refusals: Any, outcome: Any, **_: Any) -> None:
        outcomes.append(lambda: outcome(appended, ResponseCode.SUCCESS, refusals))

    monkeypatch.setattr(room.storing, "report", later)
    peer = wait(room)
    room.put(b"a")
    peer.closed = True
    outcomes.pop()()
    assert peer.replies == []
    for _ in range(10):
        await room.pass_time(5)
    (again,) = room.pop()
    assert (again.body, again.message.reconsume_times) == (b"a", 0)


async def test_a_client_that_does_not_read_receives_nothing(room: PopTimers) -> None:
    slow, other = FakePeer(), FakePeer()
    slow.congested = True
    wait(room, slow)
    wait(room, other)
    room.put(b"a")
    assert (received_bodies(slow), received_bodies(other)) == ([], [b"a"])
    mock_clock().jump(16)
    room.clock.now += 16_000
    await settle()
    assert [reply.code for reply in slow.replies] == [210]


async def test_messages_whose_check_point_the_store_refuses_are_not_taken(
    room: PopTimers, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = wait(room)
    append = room.storing.append
    refusal = ServiceUnavailable("not now")
    monkeypatch.setattr(room.storing, "append", lambda drafts: ([NOT_STORED] * len(drafts), {0: refusal}))
    room.put(b"a")
    assert [reply.code for reply in peer.replies] == [ResponseCode.SERVICE_NOT_AVAILABLE]
    monkeypatch.setattr(room.storing, "append", append)
    assert bodies(room.pop()) == [b"a"]


async def test_a_held_pop_without_permission_is_refused(room: PopTimers) -> None:
    peer, other = wait(room), wait(room, group="H")
    room.groups.table.put(SubscriptionGroupConfig(group_name="G", consume_enable=False))
    room.put(b"a")
    assert [reply.code for reply in peer.replies] == [ResponseCode.NO_PERMISSION]
    assert received_bodies(other) == [b"a"]


async def test_a_bug_is_answered_to_held_pops(
    room: PopTimers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    peer = wait(room)

    def fail(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(room.pops.services.reader, "take", fail)
    room.put(b"a")
    assert [(reply.code, reply.remark) for reply in peer.replies] == [(ResponseCode.SYSTEM_ERROR, "a bug")]
    assert "a request of 10.0.0.1:5 that waits" in caplog.text


async def test_a_removed_topic_ends_its_held_pops(room: PopTimers) -> None:
    peers = [wait(room), wait(room, group="H")]
    work = room.pops.end_topic("T", TopicNotFound("T"))
    LongTaskScheduler().start(work)
    assert [[reply.code for reply in peer.replies] for peer in peers] == [[17], [17]]
    assert room.pops.held == 0


async def test_all_held_pops_are_ended(room: PopTimers) -> None:
    peer = wait(room)
    room.pops.end_all()
    await settle()
    assert [reply.code for reply in peer.replies] == [210]


async def test_held_pops_are_bounded(room: PopTimers) -> None:
    limits = room.pops.services.polls._limits.keys
    peer = FakePeer()
    limits.current = LimitKeys(max_requests_per_connection=2)
    wait(room, peer)
    wait(room, peer)
    with pytest.raises(LimitExceeded, match="maxRequestsPerConnection=2"):
        wait(room, peer)
    limits.current = LimitKeys(max_in_flight_bytes=1 << 20)
    for _ in range(510):
        wait(room)
    with pytest.raises(LimitExceeded, match="maxInFlightBytes"):
        wait(room)
    room.pops.peer_closed(peer)
    assert room.pops.held == 510


async def test_a_notification_takes_nothing(room: PopTimers) -> None:
    fields = NotificationRequestHeader(consumer_group="G", topic="T", queue_id=-1, poll_time=5000)
    peer = FakePeer()
    assert room.request(RequestCode.NOTIFICATION, fields, peer=peer) is None
    assert room.pops.services.notifications.count(PopQueue("T", "G", -1)) == 1
    room.put(b"a")
    assert len(peer.replies) == 1
    assert bodies(room.pop()) == [b"a"]


async def test_many_answered_pops_leave_nothing_behind(room: PopTimers) -> None:
    polls = room.pops.services.polls
    for _ in range(20):
        peers = [wait(room, max_msg_nums=1) for _ in range(60)]
        for peer in peers:
            polls.peer_closed(peer)
    assert polls.held == 0
    assert len(polls._deadlines) < 1100
    assert (polls._lines, polls._by_topic, polls._by_peer) == ({}, {}, {})
    assert polls._filters.size_with(EVERYTHING) == 0


async def test_pops_whose_time_is_up_end_in_steps_however_long_their_answers_take(
    room: PopTimers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(peer: FakePeer, _request: object, reply: Reply) -> None:
        mock_clock().jump(0.003)
        peer.replies.append(reply)

    monkeypatch.setattr(FakePeer, "reply", reply)
    peers = [wait(room) for _ in range(10)]
    mock_clock().jump(16)
    counts = []
    for _ in range(3):
        room.pops.services.polls._end_some()
        counts.append(sum(len(peer.replies) for peer in peers))
    assert counts == [1, 2, 3]
