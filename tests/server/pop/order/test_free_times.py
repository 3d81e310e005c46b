from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.pop.order import free_times
from rocketwire.server.pop.order.free_times import FreeTimes
from rocketwire.server.pop.ordered import PopQueue

changes = st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 9)), max_size=60)


@given(changes, st.integers(0, 9))
def test_each_queue_is_due_once_at_its_last_time(changes: list[tuple[int, int | None]], now: int) -> None:
    former, free_times._FEWEST = free_times._FEWEST, 4  # type: ignore[misc]
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
        free_times._FEWEST = former  # type: ignore[misc]
    due = list(times.due(now))
    assert sorted(due) == sorted(queue for queue, time in model.items() if time <= now)
    assert [model[queue] for queue in due] == sorted(model[queue] for queue in due)
    assert len(times) == len(model) - len(due)
