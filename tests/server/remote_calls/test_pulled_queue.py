"""The messages that are held of one queue."""

from __future__ import annotations

import pytest

from rocketwire.remoting.core.process_queue import MOST_MESSAGES
from rocketwire.server.remote_calls.pop_emulation.queue import MOST_BYTES, PulledQueue
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from rocketwire.wire.properties import encode_properties

TIME = 10_000


def record(offset: int, *, topic: str = "T", of: str | None = None, body: bytes = b"", host: str = "1.2.3.4") -> bytes:
    properties = b"" if of is None else encode_properties({"RETRY_TOPIC": of}).encode()
    made = MessageRecord(
        topic=topic, queue_id=0, queue_offset=offset, body=body, properties=properties, born_host=(host, 1)
    )
    return encode_record(made)


def filled(count: int, body: bytes = b"") -> PulledQueue:
    queue = PulledQueue("T", 0, 0)
    queue.add(b"".join(record(offset, body=body) for offset in range(count)), count, retried=False)
    return queue


def deliver(queue: PulledQueue, most: int, now: int = 0) -> list[int]:
    taken = queue.take("T", most, now)
    queue.deliver(taken, now, TIME)
    return [each.offset for each in taken]


def test_the_offset_to_commit_is_below_all_unacknowledged_messages() -> None:
    queue = filled(4)
    assert deliver(queue, 3) == [0, 1, 2]
    assert queue.acknowledge(1, 0, 1)
    assert queue.process.offset == 0
    assert queue.acknowledge(0, 0, 1)
    assert queue.process.offset == 2
    assert queue.acknowledge(2, 0, 1)
    assert queue.process.offset == 3
    assert not queue.acknowledge(3, 0, 1)  # it was not delivered
    assert not queue.acknowledge(4, 0, 1)


@pytest.mark.parametrize("host", ["1.2.3.4", "::1"])
def test_due_messages_come_first_and_are_counted(host: str) -> None:
    queue = PulledQueue("T", 0, 0)
    queue.add(record(0, host=host) + record(1, host=host), 2, retried=False)
    assert deliver(queue, 1) == [0]
    assert deliver(queue, 2, TIME - 1) == [1]
    (again,) = queue.take("T", 2, TIME)
    assert decode_record(again.record()).reconsume_times == 1
    assert not queue.acknowledge(0, 0, TIME)


def test_a_returned_message_is_not_counted_and_its_handle_ends() -> None:
    queue = filled(1)
    deliver(queue, 1)
    held = queue.find(0, 0, 0)
    assert held is not None
    queue.change(held, 0, 0, counts=False)
    assert not queue.acknowledge(0, 0, 0)
    assert deliver(queue, 1, 1) == [0]
    assert decode_record(held.record()).reconsume_times == 0


def test_no_more_is_read_than_may_be_held() -> None:
    few = filled(10)
    assert few.has_room
    many = filled(MOST_MESSAGES)
    assert len(deliver(many, MOST_MESSAGES)) == MOST_MESSAGES
    before, _, after = many.has_room, many.acknowledge(5, 0, 0), many.has_room
    assert (before, after) == (False, True)
    large = filled(10, bytes(MOST_BYTES // 10))
    assert not large.has_room


def test_a_message_acknowledged_long_ago_does_not_hide_the_lowest() -> None:
    queue = filled(1)
    deliver(queue, 1)
    queue.add(b"", 10_000, retried=False)  # the filter dropped all others
    assert queue.process.offset == 0
    assert not queue.has_room


def test_retried_messages_have_their_first_topic() -> None:
    queue = PulledQueue("%RETRY%G", 0, 0)
    queue.add(record(0, topic="%RETRY%G", of="T") + record(1, topic="%RETRY%G", of="U"), 2, retried=True)
    assert [each.offset for each in queue.take("U", 9, 0)] == [1]
    assert [each.offset for each in queue.take("T", 9, 0)] == [0]


def test_in_order_the_same_attempt_gets_the_same_messages() -> None:
    queue = filled(3)
    taken = queue.take_in_order("T", 2, 0, "one")
    queue.deliver(taken, 0, TIME)
    assert queue.take_in_order("T", 2, 1, "two") == []
    assert [each.offset for each in queue.take_in_order("T", 2, 1, "one")] == [0, 1]
    queue.acknowledge(0, 0, 2)
    assert [each.offset for each in queue.take_in_order("T", 2, TIME, "two")] == [1, 2]


def test_a_queue_that_another_proxy_gets_is_not_delivered_any_more() -> None:
    queue = filled(2)
    deliver(queue, 1)
    queue.leaves = True
    assert queue.take("T", 2, 0) == queue.take_in_order("T", 2, 0, None) == []
    assert queue.in_flight(0)
    assert not queue.in_flight(TIME)
