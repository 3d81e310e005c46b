"""Single properties out of a text: what decoding all of it says."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.store.records.property_text import TagCodes, delivery_time, key_of, value_of
from rocketwire.store.settings import DELAY_LEVELS
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import decode_properties
from tests.store.support import START

PIECES = st.sampled_from([b"TAGS", b"KEYS", b"MY", b"\x01", b"\x02", b"A", b"\xff", b"\0", "标签".encode()])


@given(text=st.lists(PIECES, max_size=14).map(b"".join))
@example(text=b"")
@example(text=b"TAGS\x01A")
@example(text=b"X\x01y\x02TAGS\x01A\x02")
@example(text=b"TAGS\x01A\x02TAGS\x01B")
@example(text=b"MYTAGS\x01A\x02TAGS\x01B")
@example(text=b"TAGS\x01\x02TAGS\x01")
@example(text=b"X\x01TAGS\x01A")
@example(text=b"TAGS\x01A\x01B")
def test_a_value_is_what_decoding_gives(text: bytes) -> None:
    expected = decode_properties(text.decode("utf-8", "replace"))
    for name in ("TAGS", "KEYS"):
        assert value_of(text, key_of(name)).decode("utf-8", "replace") == expected.get(name, "")
    assert TagCodes().of([text]) == [string_hash(expected.get("TAGS", ""))]


@pytest.mark.parametrize(
    ("delay", "due"),
    [("1", START + 1000), ("99", START + 7_200_000), ("0", None), ("00", None), ("x", None), ("-1", None), ("²", None)],
)
def test_the_time_of_delivery_follows_the_level(delay: str, due: int | None) -> None:
    assert delivery_time(f"A\x01b\x02DELAY\x01{delay}".encode(), START, DELAY_LEVELS) == due


def test_many_tags_are_not_all_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.store.records.property_text._MOST_TAGS", 2)
    tags = TagCodes()
    for tag in "abcabc":
        assert tags.of([f"TAGS\x01{tag}".encode()]) == [string_hash(tag)]
    assert len(tags) <= 2
