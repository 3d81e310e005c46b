from __future__ import annotations

import pytest

from rocketwire.spark.files.idle import BorrowedFile, IdleFiles
from rocketwire.spark.files.read_ahead import BLOCK, ReadAhead


class Far:
    """A far file of zeros."""

    size = 100 << 20

    def __init__(self) -> None:
        self.requests = 0
        self.closed = 0

    def fetch(self, offset: int, length: int) -> bytes:
        self.requests += 1
        return bytes(length)

    def size_now(self) -> int:
        return self.size

    def close(self) -> None:
        self.closed += 1


def test_a_file_that_was_closed_is_found_with_its_blocks() -> None:
    idle, far = IdleFiles(), Far()
    lent = BorrowedFile(ReadAhead("a", far, 8 << 20), idle)
    assert lent.size() == far.size
    assert lent.read(5, 10) == bytes(10)
    lent.close()
    lent.close()
    assert (far.requests, far.closed) == (1, 0)
    for use in (lent.size, lambda: lent.read(0, 1), lambda: lent.read_into(0, bytearray(1)), lambda: lent.expect([])):
        with pytest.raises(OSError, match="Bad file descriptor"):
            use()
    assert idle.borrow("b") is None
    again = idle.borrow("a")
    assert again is not None
    assert again.read(100, 10) == bytes(10)
    assert again.read_into(0, bytearray(5)) == 5
    assert far.requests == 1
    assert idle.borrow("a") is None


def test_only_blocks_are_kept() -> None:
    idle, far = IdleFiles(), Far()
    file = ReadAhead("a", far, 8 << 20)
    file.expect([(1 << 20, 4 << 20), (10 << 20, 1 << 20)])
    file.read(1 << 20, 4 << 20)
    file.read(50 << 20, 10)
    idle.give_back(file)
    assert file.held == BLOCK
    before = far.requests
    file.read(1 << 20, 10)
    assert far.requests == before + 1
    assert file.held == 2 * BLOCK


def test_one_that_failed_is_not_kept() -> None:
    class Failing(Far):
        def fetch(self, offset: int, length: int) -> bytes:
            raise OSError("the line is cut")

    idle, far = IdleFiles(), Failing()
    lent = BorrowedFile(ReadAhead("a", far, 0), idle)
    with pytest.raises(OSError, match="the line is cut"):
        lent.read(0, 10)
    lent.close()
    assert far.closed == 1
    assert idle.borrow("a") is None


def test_few_are_kept_and_the_last_of_a_name() -> None:
    idle = IdleFiles()
    first, second = Far(), Far()
    idle.give_back(ReadAhead("a", first, 0))
    idle.give_back(ReadAhead("a", second, 0))
    assert (first.closed, second.closed) == (1, 0)
    idle.clear()
    assert second.closed == 1
    fars = [Far() for _ in range(300)]
    for number, far in enumerate(fars):
        idle.give_back(ReadAhead(str(number), far, 0))
    assert [far.closed for far in fars] == [1] * 44 + [0] * 256
    idle.clear()
    assert all(far.closed == 1 for far in fars)
    for number, far in enumerate(fars):
        file = ReadAhead(str(number), far, 0)
        for block in range(8):
            file.read(block * 3 * BLOCK, 10)
        idle.give_back(file)
    assert sum(far.closed for far in fars) == 300 + 300 - 32
