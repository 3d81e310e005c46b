"""madvise as the kernel calls it."""

import mmap

import pytest

from rocketwire import _kernel as kernel


def test_a_range_is_faulted_in() -> None:
    mapping = mmap.mmap(-1, 1 << 20)
    kernel.advise(mapping, mmap.MADV_WILLNEED, mmap.PAGESIZE, 100)
    kernel.advise(mapping, mmap.MADV_WILLNEED, 0, 1 << 20)


def test_what_the_system_refuses_is_an_error() -> None:
    mapping = mmap.mmap(-1, 1 << 20)
    with pytest.raises(OSError, match="Invalid argument"):
        kernel.advise(mapping, 9999, 0, 100)


@pytest.mark.parametrize(("start", "length"), [(-1, 10), (0, -1), (0, (1 << 20) + 1), (1 << 20, 1), (1 << 30, 0)])
def test_a_range_outside_is_refused(start: int, length: int) -> None:
    with pytest.raises(ValueError, match="not in the mapping"):
        kernel.advise(mmap.mmap(-1, 1 << 20), mmap.MADV_WILLNEED, start, length)
