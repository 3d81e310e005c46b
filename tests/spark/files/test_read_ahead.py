"""Far files: what is read is what is there, in few requests, with bounded memory and waste."""

from __future__ import annotations

import errno
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.spark.files import read_ahead
from rocketwire.spark.files.read_ahead import BLOCK, KEPT, ReadAhead

MIB = 1 << 20


class Far:
    """A far file that notes its requests; `content` may be changed under the reader."""

    def __init__(self, content: bytes) -> None:
        self.content: bytes | None = content
        self.size = len(content)
        self.requests: list[tuple[int, int]] = []
        self.sizes_asked = 0
        self.failures = 0
        self.wait: threading.Event | None = None
        self.under_way = 0
        self.closed = 0
        self._lock = threading.Lock()

    def fetch(self, offset: int, length: int) -> bytes:
        with self._lock:
            self.requests.append((offset, length))
            self.under_way += 1
        if self.wait is not None and threading.current_thread() is not threading.main_thread():
            assert self.wait.wait(10)
        try:
            if self.failures:
                self.failures -= 1
                raise OSError(errno.EIO, "the line is cut")
            # As object stores do: a range behind the end is an error.
            if self.content is None or offset >= len(self.content):
                raise OSError(errno.EINVAL, "no such range")
            return self.content[offset : offset + length]
        finally:
            with self._lock:
                self.under_way -= 1

    def size_now(self) -> int:
        self.sizes_asked += 1
        if self.content is None:
            raise FileNotFoundError(errno.ENOENT, "gone")
        return len(self.content)

    def close(self) -> None:
        assert not self.under_way
        self.closed += 1

    @property
    def fetched(self) -> int:
        return sum(length for _, length in self.requests)


def pattern(size: int) -> bytes:
    return b"".join(number.to_bytes(4) for number in range(-(-size // 4)))[:size]


CONTENT = pattern(3 * MIB + 77)


@settings(max_examples=40, deadline=None)
@given(
    reads=st.lists(
        st.tuples(st.one_of(st.integers(0, len(CONTENT) + 10), st.none()), st.integers(0, 2 * MIB)), max_size=30
    ),
    prefetch=st.sampled_from([0, 1, BLOCK, MIB, 8 * MIB]),
)
def test_any_reads_give_what_is_there(reads: list[tuple[int | None, int]], prefetch: int) -> None:
    far = Far(CONTENT)
    file = ReadAhead("f", far, prefetch)
    at = 0
    for offset, length in reads:
        at = at if offset is None else offset  # None: where the last one ended
        buffer = bytearray(length)
        assert file.read(at, length) == CONTENT[at : at + length]
        assert file.read_into(at, buffer) == len(CONTENT[at : at + length])
        assert buffer.startswith(CONTENT[at : at + length])
        at += length
    file.close()
    assert all(0 <= offset < offset + length <= len(CONTENT) for offset, length in far.requests)


def test_a_bisection_costs_a_request_a_step_until_a_block_holds_the_rest() -> None:
    far = Far(bytes(6_000_000))
    file = ReadAhead("f", far, 8 * MIB)
    for wanted in (0, 1_234_560, 5_999_980):
        low, high = 0, 300_000
        while low < high:
            middle = (low + high) // 2
            file.read(middle * 20, 20)
            low, high = (middle + 1, high) if middle * 20 < wanted else (low, middle)
    assert len(far.requests) <= 16
    assert far.fetched <= 16 * BLOCK
    file.close()


def test_reading_in_order_asks_for_ever_more_and_ahead() -> None:
    far = Far(bytes(64 * MIB))
    file = ReadAhead("f", far, 8 * MIB)
    for at in range(0, 64 * MIB, 64 << 10):
        assert len(file.read(at, 64 << 10)) == 64 << 10
        ahead = max(offset + length for offset, length in far.requests) - at
        assert ahead <= 8 * MIB + 4 * MIB
    assert far.fetched == 64 * MIB
    assert len(far.requests) <= 25
    assert max(length for _, length in far.requests) == 4 * MIB
    file.close()


def test_reads_that_begin_a_little_before_the_last_ones_end_are_in_order() -> None:
    far = Far(bytes(64 * MIB))
    file = ReadAhead("f", far, 8 * MIB)
    at = 0
    while at < 64 * MIB:  # as `LogFileReader.blocks` reads: a record that was broken off is read again
        file.read(at, 4 * MIB)
        at += 4 * MIB - 5000 if at + 4 * MIB < 64 * MIB else 4 * MIB
    assert far.fetched == 64 * MIB
    assert len(far.requests) <= 18
    file.close()


def test_what_is_ahead_is_fetched_while_the_reader_does_something_else() -> None:
    far = Far(bytes(64 * MIB))
    far.wait = threading.Event()
    file = ReadAhead("f", far, 2 * MIB)
    file.read(0, MIB)
    file.read(MIB, MIB)
    # Both are asked for, though neither can be answered.
    while far.under_way < 2:
        pass
    assert sorted(far.requests)[2:] == [(2 * MIB, MIB), (3 * MIB, MIB)]
    far.wait.set()
    file.read(2 * MIB, MIB)
    file.close()


class AtOnce(ThreadPoolExecutor):
    """Runs everything when it is submitted, so that nothing is left to be cancelled."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def test_no_more_is_fetched_in_vain_than_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "ThreadPoolExecutor", AtOnce)
    for read in range(1, 60):
        far = Far(bytes(64 * MIB))
        file = ReadAhead("f", far, 32 * MIB)
        for number in range(read):
            file.read(MIB + number * BLOCK, BLOCK)
        file.close()
        assert far.fetched <= 4 * read * BLOCK
    far = Far(bytes(64 * MIB))
    file = ReadAhead("f", far, 0)
    for at in range(0, 8 * MIB, BLOCK):
        file.read(at, BLOCK)
    file.close()
    assert far.fetched == 8 * MIB
    assert len(far.requests) < 16


@settings(max_examples=40, deadline=None)
@given(
    parts=st.lists(st.tuples(st.integers(0, 300_000), st.integers(0, 1_500_000)), max_size=20),
    prefetch=st.sampled_from([0, 1000, BLOCK, MIB, 8 * MIB]),
    unread=st.sets(st.integers(0, 19)),
    elsewhere=st.integers(0, len(CONTENT)),
)
def test_what_is_expected_and_what_is_not_is_what_is_there(
    parts: list[tuple[int, int]], prefetch: int, unread: set[int], elsewhere: int
) -> None:
    far = Far(CONTENT)
    file = ReadAhead("f", far, prefetch)
    ranges = []
    at = 0
    for gap, length in parts:
        at += gap
        ranges.append((at, length))
        at += length // 2  # they may overlap
    file.expect(ranges)
    for number, (offset, length) in enumerate(ranges):
        if number not in unread:
            assert file.read(offset, length) == CONTENT[offset : offset + length]
    assert file.read(elsewhere, 100_000) == CONTENT[elsewhere : elsewhere + 100_000]
    file.close()
    assert all(0 <= offset < offset + length <= len(CONTENT) for offset, length in far.requests)


def test_just_what_is_expected_is_fetched_several_parts_at_once() -> None:
    far = Far(bytes(64 * MIB))
    far.wait = threading.Event()
    file = ReadAhead("f", far, 8 * MIB)
    ranges = [(MIB * number, 5000) for number in range(3, 40)]
    file.expect(ranges)
    while far.under_way < 8:
        pass
    assert sorted(far.requests) == ranges[:8]
    far.wait.set()
    for offset, length in ranges:
        assert len(file.read(offset, length)) == length
        assert offset + 8 * MIB >= max(offset for offset, _ in far.requests)
        assert file.held <= 10 * 5000
    assert sorted(far.requests) == ranges
    file.close()


def test_no_byte_behind_what_is_expected_is_fetched() -> None:
    far = Far(bytes(64 * MIB))
    file = ReadAhead("f", far, 8 * MIB)
    file.expect([(MIB, 30 * MIB)])
    for at in range(MIB, 31 * MIB, MIB):
        assert len(file.read(at, MIB)) == MIB
        assert max(offset + length for offset, length in far.requests) - at <= 8 * MIB + 4 * MIB
        assert file._held <= KEPT + 8 * MIB + 2 * 4 * MIB
    file.close()
    assert far.fetched == 30 * MIB
    assert len(far.requests) == 8


@pytest.mark.parametrize("step", [BLOCK, 3 * BLOCK, 700_000, 5 * MIB])
def test_memory_is_bounded(step: int) -> None:
    far = Far(bytes(64 * MIB))
    file = ReadAhead("f", far, 4 * MIB)
    for at in range(0, 64 * MIB, step):
        file.read(at, 1000)
        held = sum(piece.end - piece.start for piece in file._pieces.values())
        assert held == file._held <= KEPT + 4 * MIB + 2 * 2 * MIB
        assert sorted(file._pieces) == file._starts
    file.close()


def test_pieces_do_not_overlap() -> None:
    far = Far(bytes(8 * MIB))
    file = ReadAhead("f", far, 2 * MIB)
    for at in (BLOCK * 5, BLOCK * 7 - 10, BLOCK * 4 + 3, 0, BLOCK - 1, BLOCK, BLOCK * 2, BLOCK * 3, BLOCK * 9):
        file.read(at, BLOCK + 20)
        pieces = sorted((piece.start, piece.end) for piece in file._pieces.values())
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(pieces))
    file.close()


def test_a_file_that_is_cut_ends_there() -> None:
    far = Far(CONTENT)
    file = ReadAhead("f", far, 0)
    assert file.read(0, 10) == CONTENT[:10]
    far.content = CONTENT[: MIB + 5]
    assert file.size() == len(CONTENT)
    assert file.read(MIB - 10, 100) == CONTENT[MIB - 10 : MIB + 5]
    assert file.size() == MIB + 5
    assert file.read(MIB + 5, 10) == b""
    assert far.sizes_asked == 0
    file.close()
    far = Far(CONTENT)
    file = ReadAhead("f", far, 0)
    far.content = b""
    buffer = bytearray(b"....")
    assert file.read_into(2 * MIB, buffer) == 0
    assert buffer == b"...."
    assert file.size() <= 2 * MIB
    assert file.read(0, 10) == b""


def test_a_file_that_is_gone_is_told_so() -> None:
    far = Far(CONTENT)
    file = ReadAhead("f", far, 0)
    far.content = None
    with pytest.raises(FileNotFoundError):
        file.read(0, 10)
    file.close()


def test_a_failure_is_told_once_and_asked_again() -> None:
    far = Far(bytes(16 * MIB))
    file = ReadAhead("f", far, 4 * MIB)
    far.failures = 1
    with pytest.raises(OSError, match="the line is cut"):
        file.read(0, 10)
    assert file.read(0, 10) == bytes(10)
    file.close()


def test_what_failed_ahead_is_told_when_it_is_read() -> None:
    far = Far(bytes(16 * MIB))
    file = ReadAhead("f", far, 2 * MIB)
    far.wait = threading.Event()
    file.read(0, MIB)
    file.read(MIB, MIB)
    far.failures = 1
    far.wait.set()
    while far.under_way:
        pass
    raised = 0
    for at in range(2 * MIB, 4 * MIB, MIB):
        try:
            file.read(at, MIB)
        except OSError:
            raised += 1
            assert file.read(at, MIB) == bytes(MIB)
    assert raised == 1
    file.close()


def test_closing_waits_for_what_is_under_way() -> None:
    far = Far(bytes(16 * MIB))
    file = ReadAhead("f", far, 2 * MIB)
    for at in range(0, 4 * MIB, MIB):
        file.read(at, MIB)
    file.close()
    file.close()
    assert far.closed == 1
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.read(0, 1)
    with pytest.raises(OSError, match="Invalid argument"):
        ReadAhead("f", Far(b"abc"), 0).read(-1, 2)
