from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.remoting.core.process_queue import MOST_BYTES, MOST_MESSAGES, ProcessQueue


def filled(begin: int, offsets: list[int], next_offset: int) -> ProcessQueue[str]:
    stock: ProcessQueue[str] = ProcessQueue(begin)
    for offset in offsets:
        stock.add(offset, str(offset), 1)
    stock.next_offset = next_offset
    return stock


@given(st.sets(st.integers(10, 60)), st.randoms(use_true_random=False))
def test_all_before_the_offset_is_consumed_and_it_never_goes_back(offsets: set[int], random: object) -> None:
    order = sorted(offsets)
    stock = filled(10, order, 61)
    assert list(stock) == [str(offset) for offset in order]
    random.shuffle(order)  # type: ignore[attr-defined]
    left = set(offsets)
    before = stock.offset
    for offset in order:
        assert stock.offset == min(left)
        assert (offset in stock, stock.get(offset)) == (True, str(offset))
        stock.remove(offset)
        assert (offset in stock, stock.get(offset)) == (False, None)
        left.discard(offset)
        assert stock.offset >= before
        before = stock.offset
    assert stock.offset == 61
    assert (len(stock), stock.bytes) == (0, 0)


def test_it_is_full_by_number_and_by_size() -> None:
    stock, large = filled(0, list(range(MOST_MESSAGES - 1)), MOST_MESSAGES - 1), filled(0, [], 0)
    room = [(stock.has_room, large.has_room)]
    changes: tuple[Callable[[], None], ...] = (
        lambda: stock.add(MOST_MESSAGES, "", 1),
        lambda: large.add(0, "", MOST_BYTES),
        lambda: large.remove(0),
    )
    for change in changes:
        change()
        room.append((stock.has_room, large.has_room))
    assert room == [(True, True), (False, True), (False, False), (False, True)]
