from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.pop.order import batches
from rocketwire.server.pop.order.batches import (
    FreeTimes,
    after_ack,
    after_postponing,
    is_held,
    make_batch,
)
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.store.tables.pop.order_info import OrderInfo


def batch_of(*offsets: int, attempt: str | None = None, former: OrderInfo | None = None) -> OrderInfo:
    return make_batch(former, attempt_id=attempt, pop_time=1000, invisible_time=60, offsets=offsets)


def test_a_client_holds_messages_that_it_neither_acknowledged_nor_postponed() -> None:
    info = batch_of(1, 2)
    assert is_held(info)
    postponed = after_postponing(info, 2, 5000)
    assert is_held(postponed)
    assert not is_held(postponed, consumed=2)
    done = after_ack(postponed, 1)
    assert done is not None
    assert not is_held(done)


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
