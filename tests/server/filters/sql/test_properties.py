from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.filters.sql.properties import SEPARATOR, property_reader
from rocketwire.wire.properties import decode_properties

PIECES = st.lists(st.sampled_from(["a", "b", "aa", "x", "日", "\x01", "\x02", "\x02a\x01", "a\x01"]))


@given(PIECES)
def test_a_property_is_what_decoding_all_gives(pieces: list[str]) -> None:
    text = "".join(pieces)
    for name in ("a", "b", "aa", "日"):
        value = property_reader(name)(SEPARATOR + text.encode())
        assert (None if value is None else value.decode()) == decode_properties(text).get(name)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", None),
        (b"a\x01first\x02b\x01x", b"first"),
        (b"b\x01x\x02a\x01last", b"last"),
        (b"b\x01x\x02a\x01inner\x02c\x01x\x02", b"inner"),
        (b"a\x01old\x02a\x01new", b"new"),
        (b"a\x01old\x02a\x01", b"old"),
        (b"a\x01", None),
        (b"a\x01\x02" * 1000, None),
        (b"b\x01x\x02a\x01old\x02" + b"a\x01\x02" * 1001 + b"c\x01x", b"old"),
        (b"\x02\x02a\x01\x02\x02a\x01", None),
        (b"aa\x01x\x02ba\x01x", None),
        (b"b\x01a\x01x", None),
        (b"a\x01b\x01x", b"b\x01x"),
    ],
)
def test_which_value_counts(text: bytes, value: bytes | None) -> None:
    assert property_reader("a")(SEPARATOR + text) == value
