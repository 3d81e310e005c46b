from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.endpoint.planning import plan
from rocketwire.spark.stream.offsets import BrokerQueue

queues = st.builds(BrokerQueue, st.sampled_from("ab"), st.sampled_from("TU"), st.integers(0, 3))
ranges = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.dictionaries(queues, ranges, max_size=8), st.integers(1, 100), st.integers(1, 3000), st.integers(1, 20))
def test_each_message_is_of_one_part_of_its_broker(
    requested: dict[BrokerQueue, tuple[int, int]], size: int, max_bytes: int, min_partitions: int
) -> None:
    parts = plan(requested, size=size, max_bytes=max_bytes, min_partitions=min_partitions)
    found = [(span.queue, offset) for part in parts for span in part.spans for offset in range(span.first, span.end)]
    assert found == [(queue, offset) for queue in sorted(requested) for offset in range(*requested[queue])]
    assert all(span.queue.broker == part.broker for part in parts for span in part.spans)
    counts = [sum(span.end - span.first for span in part.spans) for part in parts]
    assert all(0 < count * size <= max(max_bytes, size) for count in counts)
    assert len(parts) >= min(min_partitions, len(found))
    assert not counts or min_partitions == 1 or max(counts) <= -(-len(found) // min_partitions)


def test_small_queues_of_a_broker_go_together() -> None:
    requested = {BrokerQueue("b", "T", number): (0, 10) for number in range(4)}
    (part,) = plan(requested, size=1000, max_bytes=1 << 20, min_partitions=1)
    assert len(part.spans) == 4
    assert [len(part.spans) for part in plan(requested, size=1000, max_bytes=15_000, min_partitions=1)] == [2, 2, 2]
