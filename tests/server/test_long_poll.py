from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import trio

from rocketwire.server.long_poll import HeldPull, LongPoll, Queue
from rocketwire.server.request import Reply
from rocketwire.wire.errors import FrameTooLong
from tests.server.harness import FakePeer, mock_clock, settle

T0: Queue = ("T", 0)
FOUND = Reply(remark="found")
LATE = Reply(remark="late")


def held_request(peer: FakePeer) -> Any:
    """As much of a request as long polling looks at."""
    return SimpleNamespace(peer=peer)


class Pull:
    """A pull whose queue has a message when `found` is set."""

    def __init__(self, poll: LongPoll, peer: FakePeer, queue: Queue = T0, seconds: float = 15) -> None:
        self.found = False
        self.attempts: list[bool] = []
        self.peer = peer
        self.request = held_request(peer)
        poll.hold(HeldPull(queue, self.request, self.attempt), seconds)

    def attempt(self, final: bool) -> Reply | None:
        self.attempts.append(final)
        return FOUND if self.found else LATE if final else None

    @property
    def replies(self) -> list[Reply]:
        return [reply for request, reply in self.peer.replies if request is self.request]


@pytest.fixture
def poll(nursery: trio.Nursery) -> LongPoll:
    made = LongPoll()
    nursery.start_soon(made.run)
    return made


async def pass_time(seconds: float) -> None:
    await settle()
    mock_clock().jump(seconds)
    await settle()


async def test_an_arrival_is_looked_at_when_waking(poll: LongPoll) -> None:
    peer = FakePeer()
    pull = Pull(poll, peer)
    pull.found = True
    poll.arrived([T0])
    assert pull.attempts == []
    poll.wake()
    assert (pull.attempts, pull.replies, peer.flushed) == ([False], [FOUND], 1)
    assert poll.held == 0
    poll.arrived([T0])
    poll.wake()
    assert pull.attempts == [False]


async def test_waking_without_arrivals_looks_at_nothing(poll: LongPoll) -> None:
    pull = Pull(poll, FakePeer())
    poll.wake()
    poll.arrived([("T", 1), ("U", 0)])
    poll.wake()
    assert pull.attempts == []


async def test_a_pull_that_finds_nothing_waits_on(poll: LongPoll) -> None:
    pull = Pull(poll, FakePeer())
    for _ in range(3):
        poll.arrived([T0, T0])
        poll.wake()
    assert pull.attempts == [False] * 3
    assert poll.held == 1


async def test_at_its_deadline_a_pull_is_answered_for_good(poll: LongPoll) -> None:
    pull = Pull(poll, FakePeer(), seconds=15)
    await pass_time(14.9)
    assert pull.attempts == []
    await pass_time(0.2)
    assert (pull.attempts, pull.replies) == ([True], [LATE])
    assert poll.held == 0


async def test_an_earlier_deadline_that_comes_later_is_kept(poll: LongPoll) -> None:
    late = Pull(poll, FakePeer(), seconds=20)
    await pass_time(1)
    early = Pull(poll, FakePeer(), seconds=3)
    later = Pull(poll, FakePeer(), seconds=30)
    await pass_time(3.1)
    assert (early.replies, late.replies, later.replies) == ([LATE], [], [])
    await pass_time(16)
    assert (late.replies, later.replies) == ([LATE], [])


async def test_an_answered_pull_is_not_answered_again_at_its_deadline(poll: LongPoll) -> None:
    pull = Pull(poll, FakePeer())
    pull.found = True
    poll.arrived([T0])
    poll.wake()
    await pass_time(20)
    assert pull.replies == [FOUND]


async def test_a_peer_that_does_not_read_waits_for_its_deadline(poll: LongPoll) -> None:
    peer = FakePeer()
    pull = Pull(poll, peer)
    pull.found = True
    peer.congested = True
    poll.arrived([T0])
    poll.wake()
    assert pull.attempts == []
    await pass_time(15.1)
    assert pull.replies == [FOUND]


async def test_a_closed_peers_pulls_are_dropped(poll: LongPoll) -> None:
    gone, here = FakePeer("1"), FakePeer("2")
    lost = [Pull(poll, gone), Pull(poll, gone, ("T", 1))]
    kept = Pull(poll, here)
    poll.peer_closed(gone)
    assert poll.held == 1
    await pass_time(15.1)
    assert [pull.replies for pull in lost] == [[], []]
    assert kept.replies == [LATE]


async def test_deadlines_of_answered_pulls_do_not_pile_up(poll: LongPoll) -> None:
    waits = Pull(poll, FakePeer(), ("U", 0))
    for _ in range(5000):
        pull = Pull(poll, FakePeer())
        pull.found = True
        poll.arrived([T0])
        poll.wake()
    assert poll.held == 1
    assert len(poll._deadlines) < 2000
    await pass_time(15.1)
    assert waits.replies == [LATE]


@pytest.mark.parametrize("final", [False, True])
async def test_a_pull_that_fails_is_answered_and_harms_no_other(
    poll: LongPoll, final: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Pull):
        def attempt(self, final: bool) -> Reply | None:
            raise OSError(5, "Input/output error")

    broken = Broken(poll, FakePeer("1.2.3.4:5"))
    fine = Pull(poll, FakePeer())
    fine.found = True
    if final:
        await pass_time(15.1)
    else:
        poll.arrived([T0])
        poll.wake()
    assert broken.replies == [Reply(code=1, remark="[Errno 5] Input/output error")]
    assert fine.replies == [FOUND]
    assert "held pull from 1.2.3.4:5" in caplog.text


async def test_a_peer_that_closes_while_it_is_answered_is_forgotten_once(poll: LongPoll) -> None:
    class Closing(FakePeer):
        def flush(self) -> None:
            poll.peer_closed(self)

    peer = Closing()
    pulls = [Pull(poll, peer) for _ in range(2)]
    for pull in pulls:
        pull.found = True
    poll.arrived([T0])
    poll.wake()
    assert poll.held == 0


class Narrow(FakePeer):
    """A connection whose frames hold no bodies."""

    def reply(self, request: Any, reply: Any) -> None:
        if reply.remark == FOUND.remark:
            raise FrameTooLong(5, 4)
        super().reply(request, reply)


@pytest.mark.parametrize("final", [False, True])
async def test_an_answer_that_no_frame_holds_is_answered_and_harms_no_other(poll: LongPoll, final: bool) -> None:
    narrow, fine = Pull(poll, Narrow()), Pull(poll, FakePeer())
    narrow.found = fine.found = True
    if final:
        await pass_time(15.1)
    else:
        poll.arrived([T0])
        poll.wake()
    assert narrow.replies == [Reply(code=1, remark="frame of 5 bytes is longer than the limit of 4 bytes")]
    assert fine.replies == [FOUND]
    assert poll.held == 0


async def test_a_peer_that_closes_while_it_is_answered_loses_its_pulls_of_other_queues(poll: LongPoll) -> None:
    class Closing(FakePeer):
        def flush(self) -> None:
            poll.peer_closed(self)

    peer = Closing()
    for queue_id in range(3):
        Pull(poll, peer, ("T", queue_id)).found = True
    poll.arrived([("T", queue_id) for queue_id in range(3)])
    poll.wake()
    assert (poll.held, len(peer.replies)) == (0, 1)


async def test_no_pull_is_held_longer_than_the_limit(poll: LongPoll) -> None:
    pull = Pull(poll, FakePeer(), seconds=2**63)
    await pass_time(59.9)
    assert pull.replies == []
    await pass_time(0.2)
    assert pull.replies == [LATE]


async def test_nothing_is_kept_of_answered_pulls(poll: LongPoll) -> None:
    peer = FakePeer()
    pulls = [Pull(poll, peer, ("T", queue_id)) for queue_id in range(2)]
    pulls[0].found = True
    poll.arrived([("T", 0), ("T", 1)])
    poll.wake()
    assert {each: len(held) for each, held in poll._by_peer.items()} == {peer: 1}
    await pass_time(15.1)
    assert poll._by_peer == {}
    assert poll._waiting == {}
