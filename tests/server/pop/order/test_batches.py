from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.pop.order import batches
from rocketwire.server.pop.order.batches import (
    FreeTimes,
    after_ack,
    after_postponing,
    invisible_until,
    is_held,
    make_batch,
    next_offset,
    reconsume_counts,
)
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.store.tables.pop.order_info import OrderInfo
from rocketwire.wire.pop_handle import OrderCount

offset_lists = st.lists(st.integers(0, 100), unique=True, min_size=1, max_size=32).map(sorted)


def made(*offsets: int, attempt: str | None = None, former: OrderInfo | None = None) -> OrderInfo:
    return make_batch(former, attempt_id=attempt, pop_time=1000, invisible_time=60, offsets=offsets)


@given(offset_lists, st.data())
def test_what_is_acknowledged_is_not_waited_for(offsets: list[int], data: st.DataObject) -> None:
    info = made(*offsets)
    left = set(offsets)
    for offset in data.draw(st.permutations(offsets)):
        assert (next_offset(info), invisible_until(info)) == (min(left), 1060)
        after = after_ack(info, offset)
        assert after is not None
        assert after_ack(after, offset) == after
        info = after
        left.remove(offset)
    assert (next_offset(info), invisible_until(info)) == (offsets[-1] + 1, None)


@given(offset_lists, st.dictionaries(st.integers(0, 100), st.integers(0, 5000), max_size=8))
def test_a_batch_is_out_as_long_as_any_of_its_messages(offsets: list[int], times: dict[int, int]) -> None:
    info = made(*offsets)
    for offset in times.keys() & set(offsets):
        info = after_postponing(info, offset, times[offset])
    assert invisible_until(info) == max(times.get(offset, 1060) for offset in offsets)


def test_a_batch_without_a_time_of_its_own_is_out_as_long_as_is_asked() -> None:
    info = OrderInfo(pop_time=1000, offset_list=(5,))
    assert (invisible_until(info), invisible_until(info, 7)) == (1000, 1007)


def test_a_client_holds_what_it_neither_acknowledged_nor_postponed() -> None:
    info = made(1, 2)
    assert is_held(info)
    postponed = after_postponing(info, 2, 5000)
    assert is_held(postponed)
    assert not is_held(postponed, consumed=2)
    done = after_ack(postponed, 1)
    assert done is not None
    assert not is_held(done)


def test_what_is_not_in_a_batch_is_not_acknowledged() -> None:
    assert after_ack(made(1, 3), 2) is None
    assert after_ack(OrderInfo(), 0) is None
    assert invisible_until(OrderInfo()) is None


def test_messages_that_come_again_are_counted() -> None:
    first = made(1, 2)
    again = made(1, 2, former=first)
    more = made(2, 5, former=again)
    assert [each.offset_consumed_count for each in (first, again, more)] == [None, {1: 1, 2: 1}, {2: 2}]
    assert reconsume_counts(first, "T", 3) == [OrderCount("0", 3, None, 0)]
    assert reconsume_counts(again, "T", 3) == [
        OrderCount("0", 3, 1, 1),
        OrderCount("0", 3, 2, 1),
        OrderCount("0", 3, None, 1),
    ]
    assert reconsume_counts(more, "%RETRY%G_T", 3) == [OrderCount("1", 3, 2, 2), OrderCount("1", 3, None, 0)]


def test_the_same_attempt_does_not_count_again() -> None:
    first = made(1, attempt="a", former=made(1))
    assert made(1, attempt="a", former=first).offset_consumed_count == {1: 1}
    assert made(1, former=made(1)).offset_consumed_count == {1: 1}
    assert made(1, attempt="b", former=first).offset_consumed_count == {1: 2}


changes = st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 9)), max_size=60)


@given(changes, st.integers(0, 9))
def test_each_queue_is_due_once_at_its_last_time(changes: list[tuple[int, int | None]], now: int) -> None:
    former, batches._FEWEST = batches._FEWEST, 4  # type: ignore[misc]
    try:
        times = FreeTimes()
        model: dict[PopQueue, int] = {}
        for queue_id, time in changes:
            queue = PopQueue("T", "G", queue_id)
            times.put(queue, time)
            model.pop(queue, None)
            if time is not None:
                model[queue] = time
            assert times.first == min(model.values(), default=None)
            assert len(times._heap) <= max(4, 2 * len(model))
    finally:
        batches._FEWEST = former  # type: ignore[misc]
    due = list(times.due(now))
    assert sorted(due) == sorted(queue for queue, time in model.items() if time <= now)
    assert [model[queue] for queue in due] == sorted(model[queue] for queue in due)
    assert len(times) == len(model) - len(due)
