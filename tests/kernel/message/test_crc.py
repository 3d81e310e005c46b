"""The checksum in C is zlib's, with the processor's help and without."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel


@pytest.mark.parametrize("portable", [False, True])
def test_data_of_every_length_up_to_some_blocks(portable: bool) -> None:
    data = bytes(i * i * 7 + i * 31 & 0xFF for i in range(700))
    for start in range(9):
        for end in range(start, len(data)):
            assert kernel.crc32(data[start:end], portable) == zlib.crc32(data[start:end]), (start, end)


@given(st.binary(max_size=300), st.integers(1, 40))
def test_any_data(data: bytes, times: int) -> None:
    data *= times
    assert kernel.crc32(data) == kernel.crc32(data, True) == zlib.crc32(data)
