from __future__ import annotations

import contextlib
import gc
import weakref
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Reply
from rocketwire.server.filters import EVERYTHING, MessageFilter, tag
from rocketwire.server.pull.answers import PullSpec
from rocketwire.server.pull.long_poll import HeldPull, LongPoll, Queue
from rocketwire.store.errors import StoreGone
from rocketwire.store.read.fetch import FetchResult, FetchStatus
from rocketwire.wire.errors import FrameTooLong
from rocketwire.wire.facts.codes import ResponseCode
from tests.server.busy_loop import BusyLoop
from tests.server.harness import FakePeer, account, mock_clock, pass_time, settle

T0: Queue = ("T", 0)
FOUND = Reply(remark="FOUND")
LATE = Reply(code=ResponseCode.PULL_NOT_FOUND, remark="OFFSET_OVERFLOW_ONE")
NOTHING = FetchResult(FetchStatus.OFFSET_OVERFLOW_ONE, 0, 0, 0)


def skipped(next_offset: int, max_offset: int) -> FetchResult:
    return FetchResult(FetchStatus.NO_MATCHED_MESSAGE, next_offset, 0, max_offset)


def held_request(peer: FakePeer) -> Any:
    """The part of a request that long polling uses."""
    return SimpleNamespace(peer=peer)


class Store:
    """A store for held pulls, whose messages the test sets."""

    def __init__(self) -> None:
        self.found: dict[Queue, FetchResult | Exception] = {}
        self.looks: list[PullSpec] = []
        self.counted: list[tuple[str, int, str | None]] = []
        self.refused: set[str] = set()

    def on_store_error(self, error: Exception) -> bool:
        return isinstance(error, StoreGone)

    def fetch(self, spec: PullSpec) -> FetchResult:
        self.looks.append(spec)
        found = self.found.get((spec.topic, spec.queue_id), NOTHING)
        if isinstance(found, Exception):
            raise found
        return found

    def reply(self, spec: PullSpec, fetched: FetchResult) -> Reply:
        code = {
            FetchStatus.FOUND: ResponseCode.SUCCESS,
            FetchStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
            FetchStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
            FetchStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
        }[fetched.status]
        return Reply(code=code, remark=fetched.status.name)

    def refusal(self, group: str, topic: str, account: str = "") -> Reply | None:
        assert account == ""
        return Reply(code=ResponseCode.FLOW_CONTROL, remark=topic) if group in self.refused else None

    def count_delivered(
        self, group: str, offset: int, spec: PullSpec, fetched: FetchResult, reply: Reply, account: str = ""
    ) -> None:
        assert account == ""
        self.counted.append((group, offset, reply.remark))

    def put(self, queue: Queue = T0) -> None:
        """Have a message in a queue."""
        self.found[queue] = FetchResult(FetchStatus.FOUND, 1, 0, 1, [memoryview(b"m")], 1, 1)


class Pull:
    """A held pull."""

    def __init__(
        self,
        poll: LongPoll,
        peer: FakePeer,
        queue: Queue = T0,
        *,
        seconds: float = 15,
        offset: int = 0,
        most: int = 32,
        group: str = "G",
        wanted: MessageFilter = EVERYTHING,
    ) -> None:
        self.peer = peer
        self.request = held_request(peer)
        spec = PullSpec(*queue, offset, offset == 0, most, None, wanted)
        poll.hold(HeldPull(self.request, group=group, offset=offset), spec, seconds)

    @property
    def replies(self) -> list[Reply]:
        return [reply for request, reply in self.peer.replies if request is self.request]


class Closing(FakePeer):
    """A client that closes its connection while it is answered."""

    def __init__(self, poll: LongPoll) -> None:
        super().__init__()
        self._poll = poll

    def flush(self) -> None:
        self._poll.peer_closed(self)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def poll(store: Store, nursery: trio.Nursery) -> LongPoll:
    made = LongPoll(
        store, account(max_requests_per_connection=2000, max_in_flight_bytes=1 << 22).limits, BackgroundBudget()
    )
    nursery.start_soon(made.run)
    return made


def arrive(poll: LongPoll, *queues: Queue) -> None:
    """Add messages to queues, or to T's first one, and wake the pulls held there."""
    poll.arrived(queues or [T0])
    poll.wake()


async def test_an_arrival_is_read_at_the_wake_up(poll: LongPoll, store: Store) -> None:
    peer = FakePeer()
    pull = Pull(poll, peer)
    store.put()
    poll.arrived([T0])
    assert store.looks == []
    poll.wake()
    assert (len(store.looks), pull.replies, peer.flushed) == (1, [FOUND], 1)
    assert poll.held == 0
    arrive(poll)
    await pass_time(20)
    assert (len(store.looks), pull.replies) == (1, [FOUND])


async def test_a_group_over_its_quota_is_refused_when_a_message_comes(poll: LongPoll, store: Store) -> None:
    store.refused.add("G")
    refused, other = Pull(poll, FakePeer()), Pull(poll, FakePeer(), group="H")
    arrive(poll)
    assert (refused.replies, other.replies, poll.held) == ([], [], 2)
    store.put()
    arrive(poll)
    assert refused.replies == [Reply(code=ResponseCode.FLOW_CONTROL, remark="T")]
    assert [reply.remark for reply in other.replies] == ["FOUND"]
    assert (store.counted, poll.held) == ([("H", 0, "FOUND")], 0)


async def test_the_held_pulls_of_a_connection_are_bounded(poll: LongPoll, store: Store) -> None:
    peer, other = FakePeer("one"), FakePeer("other")
    for offset in range(2000):
        Pull(poll, peer, offset=offset)
    with pytest.raises(LimitExceeded, match=r"maxRequestsPerConnection=2000$"):
        Pull(poll, peer)
    Pull(poll, other, seconds=1)
    await pass_time(2)
    assert poll.held == 2000
    poll.peer_closed(peer)
    Pull(poll, peer)
    assert poll.held == 1


async def test_all_held_pulls_are_bounded(poll: LongPoll, store: Store) -> None:
    peers = [FakePeer(str(number)) for number in range(4)]
    for number in range(4096):
        Pull(poll, peers[number // 1024], seconds=1 if number else 0.5)
    with pytest.raises(LimitExceeded, match=r"maxInFlightBytes=4194304$"):
        Pull(poll, peers[0])
    await pass_time(0.6)
    Pull(poll, peers[0])
    assert poll.held == 4096


async def test_held_pulls_are_bounded_by_the_size_of_their_filters(poll: LongPoll, store: Store) -> None:
    subscriptions = ["||".join(f"{number:x}{each}" for each in range(4000)) for number in range(8)]
    for subscription in subscriptions[:7]:  # 0.55 MiB each
        Pull(poll, FakePeer(), wanted=tag.subscription_filter(subscription))
    with pytest.raises(LimitExceeded, match=r"maxInFlightBytes=4194304$"):
        Pull(poll, FakePeer(), wanted=tag.subscription_filter(subscriptions[7]))
    Pull(poll, FakePeer())
    await pass_time(15.1)
    assert (poll.held, poll._filters.size) == (0, 0)


async def test_a_pull_that_is_not_held_leaves_nothing_behind(store: Store) -> None:
    poll = LongPoll(store, account(max_in_flight_bytes=1 << 20).limits, BackgroundBudget())
    wanted = tag.subscription_filter("||".join(map(str, range(8000))))
    codes_reference = weakref.ref(wanted.codes)
    gc.disable()
    try:
        with contextlib.suppress(LimitExceeded):
            Pull(poll, FakePeer(), wanted=wanted)
        del wanted
        tag.subscription_filter("||".join(map(str, range(7999))))  # the last long filter is cached
        assert (poll.held, codes_reference()) == (0, None)
    finally:
        gc.enable()


async def test_a_shared_filter_counts_once(poll: LongPoll, store: Store) -> None:
    shared = tag.subscription_filter("||".join(map(str, range(4000))))
    peer = FakePeer()
    for number in range(20):
        Pull(poll, peer, ("T", number), offset=number % 2, wanted=shared)
    assert poll._filters.size == shared.size
    # pulls of a queue that wait at one offset share one of two equal filters
    again = tag._read("||".join(map(str, range(4000))), None)
    Pull(poll, peer, offset=1, wanted=again)
    assert poll._filters.size == 2 * shared.size
    store.found[T0] = skipped(1, 1)
    arrive(poll)
    assert poll._filters.size == 2 * shared.size
    poll.peer_closed(peer)
    assert (poll.held, poll._filters.size) == (0, 0)


async def test_a_wake_up_without_arrivals_reads_nothing(poll: LongPoll, store: Store) -> None:
    Pull(poll, FakePeer())
    poll.wake()
    arrive(poll, ("T", 1), ("U", 0))
    assert store.looks == []


async def test_a_pull_that_finds_nothing_is_held_further(poll: LongPoll, store: Store) -> None:
    Pull(poll, FakePeer())
    for _ in range(3):
        poll.arrived([T0, T0])
        poll.wake()
    assert len(store.looks) == 3
    assert poll.held == 1


async def test_the_store_is_read_once_for_all_pulls_of_one_offset_and_filter(poll: LongPoll, store: Store) -> None:
    peers = [FakePeer(str(number)) for number in range(20)]
    pulls = [Pull(poll, peer, group=f"G{number % 3}") for number, peer in enumerate(peers)]
    others = [Pull(poll, peers[0], most=1), Pull(poll, peers[0], offset=7)]
    arrive(poll)
    assert len(store.looks) == 3
    assert poll.held == 22
    store.put()
    arrive(poll)
    assert len(store.looks) == 6
    assert [pull.replies for pull in pulls + others] == [[FOUND]] * 22
    assert [peer.flushed for peer in peers] == [1] * 20
    # each is counted for its group
    assert Counter(store.counted) == {
        ("G0", 0, "FOUND"): 7,
        ("G1", 0, "FOUND"): 7,
        ("G2", 0, "FOUND"): 6,
        ("G", 7, "FOUND"): 1,
        ("G", 0, "FOUND"): 1,
    }


async def test_messages_that_do_not_pass_the_filter_are_read_once(poll: LongPoll, store: Store) -> None:
    behind = [Pull(poll, FakePeer(), offset=3) for _ in range(2)]
    store.found[T0] = skipped(5, 5)
    arrive(poll)
    ahead = Pull(poll, FakePeer(), offset=5)
    arrive(poll)
    # Pulls from 3 wait at 5 now, as the other does.
    assert [spec.offset for spec in store.looks] == [3, 5]
    store.put()
    arrive(poll)
    assert [pull.replies for pull in [*behind, ahead]] == [[FOUND]] * 3
    assert len(store.looks) == 3
    assert store.counted == [("G", 3, "FOUND")] * 2 + [("G", 5, "FOUND")]


async def test_pulls_that_reach_one_offset_wait_together(poll: LongPoll, store: Store) -> None:
    pulls = [Pull(poll, FakePeer(), offset=offset) for offset in (3, 5)]
    store.found[T0] = skipped(5, 5)
    arrive(poll)
    assert len(store.looks) == 2
    await pass_time(15.1)
    assert len(store.looks) == 3
    assert [pull.replies[0].remark for pull in pulls] == ["NO_MATCHED_MESSAGE"] * 2
    assert (poll.held, poll._waiting) == (0, {})


async def test_a_read_that_ends_before_the_end_of_the_queue_is_answered(poll: LongPoll, store: Store) -> None:
    pull = Pull(poll, FakePeer())
    store.found[T0] = skipped(800, 801)
    arrive(poll)
    assert [reply.code for reply in pull.replies] == [ResponseCode.PULL_RETRY_IMMEDIATELY]


async def test_a_pull_that_is_moved_is_not_held(poll: LongPoll, store: Store) -> None:
    pull = Pull(poll, FakePeer(), offset=4)
    store.found[T0] = FetchResult(FetchStatus.OFFSET_TOO_SMALL, 9, 9, 12)
    arrive(poll)
    assert [reply.code for reply in pull.replies] == [ResponseCode.PULL_OFFSET_MOVED]
    assert store.counted == [("G", 4, "OFFSET_TOO_SMALL")]


async def test_answers_for_one_peer_are_sent_together(poll: LongPoll, store: Store) -> None:
    peer = FakePeer()
    queues = [("T", number) for number in range(16)]
    for queue in queues:
        Pull(poll, peer, queue)
        store.put(queue)
    arrive(poll, *queues)
    assert (len(peer.replies), peer.flushed) == (16, 1)


@pytest.mark.parametrize(("seconds", "held"), [(15, 15), (2**63, 60)])
async def test_at_its_deadline_a_pull_is_answered(poll: LongPoll, store: Store, seconds: int, held: int) -> None:
    pull = Pull(poll, FakePeer(), seconds=seconds)
    await pass_time(held - 0.1)
    assert store.looks == []
    await pass_time(0.2)
    assert (len(store.looks), pull.replies) == (1, [LATE])
    assert poll.held == 0


async def test_an_earlier_deadline_that_is_added_later_counts(poll: LongPoll, store: Store) -> None:
    late = Pull(poll, FakePeer(), seconds=20)
    await pass_time(1)
    early = Pull(poll, FakePeer(), seconds=3)
    later = Pull(poll, FakePeer(), seconds=30)
    await pass_time(3.1)
    assert (early.replies, late.replies, later.replies) == ([LATE], [], [])
    await pass_time(16)
    assert (late.replies, later.replies) == ([LATE], [])


async def test_a_peer_that_does_not_read_waits_for_its_deadline(poll: LongPoll, store: Store) -> None:
    peer = FakePeer()
    pull = Pull(poll, peer)
    store.put()
    peer.congested = True
    arrive(poll)
    assert pull.replies == []
    await pass_time(15.1)
    assert pull.replies == [FOUND]


async def test_a_peer_whose_outbox_this_wake_up_filled_gets_the_rest(poll: LongPoll, store: Store) -> None:
    class Filled(FakePeer):
        def reply(self, request: Any, reply: Any) -> None:
            super().reply(request, reply)
            self.congested = True

        def flush(self) -> None:
            super().flush()
            self.congested = False

    peer = Filled()
    pulls = [Pull(poll, peer, ("T", number % 2), most=number) for number in range(4)]
    for number in range(2):
        store.put(("T", number))
    arrive(poll, ("T", 0), ("T", 1))
    assert [pull.replies for pull in pulls] == [[FOUND]] * 4
    assert peer.flushed == 4


async def test_a_peer_may_close_while_other_pulls_are_read(poll: LongPoll, store: Store) -> None:
    peer = Closing(poll)
    peer.congested = True
    for queue_id in range(2):
        for most in range(2):
            Pull(poll, peer, ("T", queue_id), most=most)
        store.put(("T", queue_id))
    arrive(poll, *(("T", queue_id) for queue_id in range(2)))
    assert (poll.held, poll._waiting, peer.replies, store.counted) == (0, {}, [], [])


async def test_a_closed_peers_pulls_are_dropped(poll: LongPoll, store: Store) -> None:
    closed, connected = FakePeer("1"), FakePeer("2")
    lost = [Pull(poll, closed), Pull(poll, closed, ("T", 1))]
    kept = Pull(poll, connected)
    poll.peer_closed(closed)
    assert poll.held == 1
    await pass_time(15.1)
    assert [pull.replies for pull in lost] == [[], []]
    assert kept.replies == [LATE]


async def test_deadlines_of_answered_pulls_do_not_pile_up(poll: LongPoll, store: Store) -> None:
    waits = Pull(poll, FakePeer(), ("U", 0))
    store.put()
    for _ in range(5000):
        Pull(poll, FakePeer())
        poll.arrived([T0])
        poll.wake()
    assert poll.held == 1
    assert len(poll._deadlines) < 2000
    await pass_time(15.1)
    assert waits.replies == [LATE]


@pytest.mark.parametrize("final", [False, True])
async def test_a_failed_read_is_answered_and_affects_no_other_pull(
    poll: LongPoll, store: Store, final: bool, caplog: pytest.LogCaptureFixture
) -> None:
    broken = [Pull(poll, FakePeer()) for _ in range(2)]
    fine = Pull(poll, FakePeer(), ("T", 1))
    store.found[T0] = OSError(5, "Input/output error")
    store.put(("T", 1))
    if final:
        await pass_time(15.1)
    else:
        poll.arrived([T0, ("T", 1)])
        poll.wake()
    assert [pull.replies for pull in broken] == [[Reply(code=1, remark="[Errno 5] Input/output error")]] * 2
    assert fine.replies == [FOUND]
    assert "held pulls of T, queue 0" in caplog.text
    assert poll.held == 0


async def test_a_peer_that_closes_while_it_is_answered_is_forgotten_once(poll: LongPoll, store: Store) -> None:
    peer = Closing(poll)
    for _ in range(2):
        Pull(poll, peer)
    store.put()
    arrive(poll)
    assert poll.held == 0


class Narrow(FakePeer):
    """A connection whose frames hold no messages."""

    def reply(self, request: Any, reply: Any) -> None:
        if reply == FOUND:
            raise FrameTooLong(5, 4)
        super().reply(request, reply)


@pytest.mark.parametrize("final", [False, True])
async def test_a_pull_whose_answer_fails_is_answered_and_affects_no_other(
    poll: LongPoll, store: Store, final: bool, caplog: pytest.LogCaptureFixture
) -> None:
    narrow, fine = Pull(poll, Narrow("1.2.3.4:5")), Pull(poll, FakePeer())
    store.put()
    if final:
        await pass_time(15.1)
    else:
        poll.arrived([T0])
        poll.wake()
    assert narrow.replies == [Reply(code=1, remark="frame of 5 bytes is longer than the limit of 4 bytes")]
    assert fine.replies == [FOUND]
    assert poll.held == 0
    assert "held pull from 1.2.3.4:5" in caplog.text


async def test_answered_pulls_leave_nothing_behind(poll: LongPoll, store: Store) -> None:
    peer = FakePeer()
    for queue_id in range(2):
        Pull(poll, peer, ("T", queue_id))
    store.put()
    arrive(poll, ("T", 0), ("T", 1))
    assert {each: len(held) for each, held in poll._by_peer.items()} == {peer: 1}
    await pass_time(15.1)
    assert poll._by_peer == {}
    assert poll._waiting == {}


async def test_pulls_that_are_all_due_at_once_yield_between_steps(
    poll: LongPoll, store: Store, nursery: trio.Nursery
) -> None:
    pulls = [Pull(poll, FakePeer()) for _ in range(1200)]
    left: list[int] = []

    async def other() -> None:
        await trio.sleep(15)
        while poll.held:
            left.append(poll.held)
            await trio.lowlevel.checkpoint()

    nursery.start_soon(other)
    await pass_time(15.1)
    assert all(pull.replies == [LATE] for pull in pulls)
    assert not {700, 200}.isdisjoint(left)
    assert set(left) <= {1200, 700, 200}


async def test_requests_are_served_while_overdue_pulls_are_answered(store: Store, nursery: trio.Nursery) -> None:
    loop = BusyLoop(tick=0.000_01)
    loop.keep_busy()
    limits = account(max_requests_per_connection=2000, max_in_flight_bytes=1 << 22).limits
    poll = LongPoll(store, limits, loop.budget)
    nursery.start_soon(poll.run)
    pulls = [Pull(poll, FakePeer()) for _ in range(1200)]
    await settle()
    mock_clock().jump(20)
    await settle()
    assert all(pull.replies == [LATE] for pull in pulls)
    assert len(loop.rests) >= 1200 // 64


async def test_all_are_ended_at_once_whatever_their_deadline(poll: LongPoll, store: Store) -> None:
    closed = FakePeer("gone")
    Pull(poll, closed)
    pulls = [Pull(poll, FakePeer(str(number)), seconds=15 - number % 7) for number in range(1200)]
    poll.peer_closed(closed)
    poll.end_all()
    await settle()
    assert [pull.replies for pull in pulls] == [[LATE]] * len(pulls)
    assert poll.held == 0
    later = Pull(poll, FakePeer("later"), seconds=1)
    await settle()
    assert later.replies == []
    await pass_time(1)
    assert later.replies == [LATE]
