"""Slots in memory."""

from __future__ import annotations

from rocketwire.server.timer.wheel.loaded import LoadedSlots

P = 1000


def popped(loaded: LoadedSlots, now: int, most: int = 100, enqueued: int = 0) -> list[tuple[int, list[int]]]:
    return [(run.due, list(run.positions)) for run in loaded.take(now, most, enqueued)]


def test_a_slot_that_is_being_read_gives_nothing() -> None:
    loaded = LoadedSlots(0, P)
    slot = loaded.begin_slot(0)
    loaded.add(slot, 52, 500, rolls=False)
    assert [loaded.next_due, loaded.oldest] == [None, 0]
    assert popped(loaded, 2000) == []
    loaded.finish_slot(slot)
    assert [loaded.next_due, loaded.count, loaded.to] == [500, 1, P]
    assert popped(loaded, 499) == []
    assert popped(loaded, 500) == [(500, [52])]
    assert [loaded.next_due, loaded.count, slot.waiting, loaded.oldest] == [None, 0, 1, 500]
    assert loaded.settled(slot, 500, rolled_to=None)
    assert loaded.oldest is None


def test_messages_come_out_by_time_and_the_oldest_of_a_time_first() -> None:
    loaded = LoadedSlots(0, P)
    slot = loaded.begin_slot(0)
    for position, due in ((400, 7), (300, 5), (200, 7), (100, 7)):  # as units are read: newest first
        loaded.add(slot, position, due, rolls=False)
    loaded.finish_slot(slot)
    assert popped(loaded, 9, most=2) == [(5, [300]), (7, [100])]
    assert popped(loaded, 9, most=9) == [(7, [400, 200])]


def test_a_slot_waits_for_those_that_roll_before_it() -> None:
    loaded = LoadedSlots(0, P)
    first, second = loaded.at(0), loaded.at(P)
    loaded.add(first, 52, 0, rolls=True)
    loaded.add(second, 104, P + 1, rolls=False)
    assert popped(loaded, 5000) == [(0, [52])]
    assert loaded.is_blocked(9)
    assert popped(loaded, 5000) == []
    assert loaded.settled(first, 0, rolled_to=8)
    assert loaded.is_blocked(7)
    assert popped(loaded, 5000, enqueued=7) == []
    assert popped(loaded, 5000, enqueued=8) == [(P + 1, [104])]


def test_a_message_of_the_same_slot_does_not_wait_for_a_rolled_one() -> None:
    loaded = LoadedSlots(0, P)
    slot = loaded.at(0)
    loaded.add(slot, 52, 0, rolls=True)
    loaded.add(slot, 104, 0, rolls=True)
    loaded.add(slot, 156, 3, rolls=False)
    assert popped(loaded, 1) == [(0, [52, 104])]
    assert not loaded.settled(slot, 0, rolled_to=8)
    assert popped(loaded, 5) == [(3, [156])]
    assert loaded.oldest == 0
    assert loaded.settled(slot, 0, rolled_to=9)
    assert loaded.oldest == 3
    assert loaded.settled(slot, 3, rolled_to=None)


def test_a_coarse_time_counts_from_the_start_of_its_slot() -> None:
    loaded = LoadedSlots(0, P)
    slot = loaded.at(P)
    loaded.add(slot, 52, 2 * P, rolls=False)
    assert loaded.oldest == 2 * P
    slot.coarse = True
    assert loaded.oldest == P
    assert popped(loaded, 2 * P) == [(2 * P, [52])]
    assert loaded.oldest == P
    loaded.settled(slot, 2 * P, rolled_to=None)
    assert loaded.oldest is None


def test_dropped_slots_are_forgotten() -> None:
    loaded = LoadedSlots(0, P)
    slot = loaded.at(P)
    loaded.add(slot, 52, P + 5, rolls=True)
    assert loaded.first is slot
    assert len(loaded) == 1
    loaded.drop(500)
    assert slot.dropped
    assert [loaded.first, loaded.next_due, loaded.count, loaded.to, len(loaded)] == [None, None, 0, 500, 0]
    assert not loaded.settled(slot, P + 5, rolled_to=None)
    assert not loaded.is_blocked(0)


def test_the_earliest_slot_is_the_first() -> None:
    loaded = LoadedSlots(0, P)
    later, earlier = loaded.at(3 * P), loaded.at(P)
    assert loaded.first is earlier
    loaded.remove(earlier)
    assert loaded.first is later
