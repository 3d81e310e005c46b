"""The id of a schema, and the path to a type of Protobuf."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.bodies.framing import unframed, without_path
from rocketwire.spark.errors import BodyMalformed


def zigzag(number: int) -> bytes:
    number *= 2
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


@given(st.integers(0, (1 << 32) - 1), st.binary())
def test_the_head(number: int, value: bytes) -> None:
    assert unframed(b"\0" + number.to_bytes(4, "big") + value) == (number, value)


@pytest.mark.parametrize("body", [b"", b"\0\0\0\0", b"\1\0\0\0\1x", b"{}   "])
def test_no_head(body: bytes) -> None:
    with pytest.raises(BodyMalformed, match="does not begin with"):
        unframed(body)


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=4), st.binary())
def test_the_path(indexes: list[int], value: bytes) -> None:
    path = zigzag(len(indexes)) + b"".join(map(zigzag, indexes))
    assert without_path(path + value) == value
    assert without_path(b"\0" + value) == value


@pytest.mark.parametrize("value", [b"", b"\x80", b"\x02", b"\x01", b"\x02\x81", b"\xff" * 11])
def test_no_path(value: bytes) -> None:
    with pytest.raises(BodyMalformed, match="no path"):
        without_path(value)
