from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.remoting import Queue
from rocketwire.remoting.core.incoming import decode_message
from rocketwire.remoting.core.process_queue import MOST_BYTES, MOST_MESSAGES, ProcessQueue
from rocketwire.remoting.messages import ReceivedMessage
from rocketwire.wire.message import MessageRecord as Record

QUEUE = Queue("T", "b", 0)


def message(offset: int, body: bytes = b"x") -> ReceivedMessage:
    return decode_message(Record(topic="T", queue_id=0, body=body, queue_offset=offset), "b")


@given(st.sets(st.integers(10, 60)), st.randoms(use_true_random=False))
def test_all_before_the_offset_is_consumed_and_it_never_goes_back(offsets: set[int], random: object) -> None:
    stock = ProcessQueue(QUEUE, 10)
    messages = [message(offset) for offset in sorted(offsets)]
    stock.add(messages, 61)
    random.shuffle(messages)  # type: ignore[attr-defined]
    left = set(offsets)
    before = stock.offset
    for each in messages:
        assert stock.offset == min(left)
        stock.remove(each)
        left.discard(each.queue_offset)
        assert stock.offset >= before
        before = stock.offset
    assert stock.offset == 61
    assert (len(stock), stock.bytes) == (0, 0)


def test_it_is_full_by_number_and_by_size() -> None:
    stock, large = ProcessQueue(QUEUE, 0), ProcessQueue(QUEUE, 0)
    room = []
    changes: tuple[Callable[[], None], ...] = (
        lambda: stock.add([message(number) for number in range(MOST_MESSAGES - 1)], MOST_MESSAGES - 1),
        lambda: stock.add([message(MOST_MESSAGES)], MOST_MESSAGES + 1),
        lambda: large.add([message(0, bytes(MOST_BYTES))], 1),
        lambda: large.remove(message(0)),
    )
    for change in changes:
        change()
        room.append((stock.has_room, large.has_room))
    assert room == [(True, True), (False, True), (False, False), (False, True)]
