"""The ends of queues in C as spark.stores.tail_rows follows them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.spark.stores.tail_rows import ROW, ROW_STRUCT, follow_rows_by_python
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT

Follow = Callable[[bytearray], bool]
ENTRY = ENTRY_STRUCT.pack(5, 100, 0)
entries = st.builds(
    ENTRY_STRUCT.pack,
    st.integers(0, 1 << 40),
    st.sampled_from([100, 1, 0, -1]),
    st.sampled_from([0, -1, 1 << 40]),
)
#: What follows the last known entry: few of any kind, or very many.
followers = st.lists(entries, max_size=12) | st.builds(lambda count: [ENTRY] * count, st.integers(0, 1200))
#: Where the file ends, behind that: cut inside an entry, full, or with room.
rooms = st.integers(0, 30) | st.sampled_from([20 * 9, 20 * 40, 20 * 700])


@given(followers, rooms, st.booleans(), st.booleans(), st.integers(0, 4))
def test_a_queue_is_followed_as_the_twin_follows_it(
    behind: list[bytes], room: int, is_other: bool, is_removed: bool, before: int
) -> None:
    data = ENTRY * (before + 1) + b"".join(behind) + bytes(room)
    with tempfile.TemporaryFile() if is_removed else tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        last = b"another" + ENTRY[7:] if is_other else ENTRY
        row = ROW_STRUCT.pack(before * ENTRY_SIZE, len(data), 3, 70, file.fileno(), last)
        closed = ROW_STRUCT.pack(0, 100, 0, 1, -1, last)
        ours, twins = bytearray(closed + row), bytearray(closed + row)
        assert kernel.follow_queue_tails(ours) == follow_rows_by_python(twins)
        assert ours == twins


@pytest.mark.parametrize("follow", [kernel.follow_queue_tails, follow_rows_by_python])
def test_the_new_end_is_behind_the_last_entry(follow: Follow) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(ENTRY * 2 + ENTRY_STRUCT.pack(9, 8, -7) + bytes(20 * 50))
        file.flush()
        row = bytearray(ROW_STRUCT.pack(0, 20 * 53, 40, 41, file.fileno(), ENTRY))
        assert follow(row)
        assert ROW_STRUCT.unpack(row) == (40, 20 * 53, 40, 43, file.fileno(), ENTRY_STRUCT.pack(9, 8, -7))
        assert not follow(row), "the file does not grow, and has no name"


@pytest.mark.parametrize("follow", [kernel.follow_queue_tails, follow_rows_by_python])
def test_rows_of_no_file_and_impossible_places(follow: Follow) -> None:
    assert follow(bytearray())
    assert follow(bytearray(ROW_STRUCT.pack(-5, -9, 0, 0, -1, ENTRY)))
    with tempfile.NamedTemporaryFile() as file:
        file.write(ENTRY * 40)
        file.flush()
        for at, room in [(-20, 800), (1 << 62, (1 << 63) - 1), ((1 << 63) - 1, (1 << 63) - 1), (20, 0), (0, -1)]:
            assert not follow(bytearray(ROW_STRUCT.pack(at, room, 0, 0, file.fileno(), ENTRY))), (at, room)


def test_half_a_row_is_none() -> None:
    with pytest.raises(ValueError, match="56 bytes"):
        kernel.follow_queue_tails(bytearray(ROW.itemsize + 8))
