"""Remote files: the content is read in few requests."""

from __future__ import annotations

import errno
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.spark.files.far import RangeReader

BLOCK = 128 << 10
MIB = 1 << 20
CONTENT = random.Random(1).randbytes(3 * MIB - 77)


class Remote:
    """A remote file that notes its requests; `content` may be changed under the reader."""

    def __init__(self, content: bytes | None) -> None:
        self.content = content
        self.size = len(content or b"")
        self.requests: list[tuple[int, int]] = []
        self.failures = self.closed = 0

    def fetch(self, offset: int, length: int) -> bytes:
        self.requests.append((offset, length))
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EIO, "the line is cut")
        # As object stores do: a range behind the end is an error.
        if self.content is None or offset >= len(self.content):
            raise OSError(errno.EINVAL, "no such range")
        return self.content[offset : offset + length]

    def size_now(self) -> int:
        if self.content is None:
            raise FileNotFoundError(errno.ENOENT, "gone")
        return len(self.content)

    def close(self) -> None:
        self.closed += 1


@settings(max_examples=40, deadline=None)
@given(
    reads=st.lists(
        st.tuples(st.one_of(st.integers(0, len(CONTENT) + 10), st.none()), st.integers(0, 2 * MIB)), max_size=30
    ),
    prefetch=st.sampled_from([0, 1, BLOCK, MIB, 8 * MIB]),
)
def test_any_reads_give_the_content(reads: list[tuple[int | None, int]], prefetch: int) -> None:
    remote = Remote(CONTENT)
    file = RangeReader("f", remote, prefetch)
    at = 0
    for offset, length in reads:
        at = at if offset is None else offset  # None: where the last one ended
        assert file.read(at, length) == CONTENT[at : at + length]
        at += length
    assert all(0 <= offset < offset + length <= len(CONTENT) for offset, length in remote.requests)


def test_a_bisection_ends_within_a_block() -> None:
    remote = Remote(bytes(6_000_000))
    file = RangeReader("f", remote, 8 * MIB)
    low, high = 0, 300_000
    while low < high:
        middle = (low + high) // 2
        file.read(middle * 20, 20)
        low, high = (middle + 1, high) if middle * 20 < 1_234_560 else (low, middle)
    assert len(remote.requests) <= 7


@pytest.mark.parametrize("until", [None, 5 * MIB + 77, 64 * MIB])
def test_a_reader_in_order_gets_more_a_request_and_nothing_ahead_of_its_end(until: int | None) -> None:
    end = until or 64 * MIB
    remote = Remote(bytes(64 * MIB))
    file = RangeReader("f", remote, 8 * MIB, until)
    at = 0
    while at < end:  # as the walk over a log reads: a record that was broken off is read again
        length = min(2 * MIB, end - at)
        assert len(file.read(at, length)) == length
        at += length if at + length == end else length - 5000
    assert len(remote.requests) <= 12
    assert max(start + length for start, length in remote.requests) == end


def test_a_file_that_is_cut_ends_there() -> None:
    remote = Remote(CONTENT)
    file = RangeReader("f", remote, 0)
    remote.content = CONTENT[: MIB + 5]
    assert file.size() == len(CONTENT)
    assert file.read(MIB - 10, 100) == CONTENT[MIB - 10 : MIB + 5]
    assert file.size() == MIB + 5
    assert file.read(MIB + 5, 10) == b""
    remote.content = b""
    assert file.read(0, 10) == b""


def test_a_failed_request_raises_its_error() -> None:
    remote = Remote(CONTENT)
    file = RangeReader("f", remote, 0)
    remote.failures = 1
    with pytest.raises(OSError, match="the line is cut"):
        file.read(0, 10)
    assert file.read(0, 10) == CONTENT[:10]
    with pytest.raises(OSError, match="Invalid argument"):
        file.read(-1, 2)
    remote.content = None
    with pytest.raises(FileNotFoundError):
        file.read(MIB, 10)
    file.close()
    file.close()
    assert remote.closed == 1
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.read(0, 1)
