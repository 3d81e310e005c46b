"""Edits in the text against the same edits of the decoded properties."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.wire.errors import PropertiesInvalid
from rocketwire.wire.properties import decode_properties, decode_stored_properties, encode_properties
from rocketwire.wire.property_edits import remove_properties, set_properties

#: Few names and short values, so that names come twice, begin alike, and lack a part.
texts = st.lists(st.text(st.sampled_from("\x01ABé"), max_size=5), max_size=6).map("\x02".join)
names = st.sampled_from(["A", "B", "AB", "é"])
values = st.text(st.sampled_from("\x01Aé"), max_size=3)


@given(texts, st.dictionaries(names, values))
@example("A\x01x\x02A\x01y\x02B\x01z", {"A": "1"})
@example("A\x01x\x02B\x01z\x02", {"C": "1", "A": "2"})
@example("B\x01z\x02A\x01x\x02A\x01y", {"A": "1"})
@example("A\x01\x02B\x01z", {"A": "1"})
@example("", {"A": "1", "B": "2"})
@example("B\x01", {"A": "1", "B": "2"})
def test_what_is_set_is_set_as_in_the_decode_stored_properties(text: str, items: dict[str, str]) -> None:
    expected = {**decode_properties(text), **items}
    expected = {name: value for name, value in expected.items() if value}
    changed = set_properties(text.encode(), [(name.encode(), value.encode()) for name, value in items.items()])
    assert decode_stored_properties(changed) == expected
    assert list(decode_stored_properties(changed)) == list(expected)


@given(st.dictionaries(names, values.filter(bool)), st.dictionaries(names, values.filter(bool)))
def test_plain_text_becomes_what_is_encoded(before: dict[str, str], items: dict[str, str]) -> None:
    text = encode_properties(before).encode()
    changed = set_properties(text, [(name.encode(), value.encode()) for name, value in items.items()])
    assert changed == encode_properties({**before, **items}).encode()
    assert remove_properties(changed, [name.encode() for name in items]) == (
        encode_properties({name: value for name, value in before.items() if name not in items}).encode()
    )


@given(texts, st.lists(names, max_size=3))
@example("A\x01x\x02B\x01y\x02A\x01z\x02A\x01", ["A"])
@example("A\x01x", ["A"])
def test_removed_properties_are_missing(text: str, gone: list[str]) -> None:
    expected = {name: value for name, value in decode_properties(text).items() if name not in gone}
    changed = remove_properties(text.encode(), [name.encode() for name in gone])
    assert decode_stored_properties(changed) == expected
    assert list(decode_stored_properties(changed)) == list(expected)


@given(st.lists(st.binary(max_size=6), max_size=5).map(b"\x02".join), names.filter(str.isascii))
@example(b"\xe4\x01x\x02A\x01\xc3\x02A\x01y", "A")
def test_bytes_that_are_no_text_change_nothing(text: bytes, name: str) -> None:
    expected = decode_stored_properties(text)
    assert decode_stored_properties(set_properties(text, [(name.encode(), b"new")])) == {**expected, name: "new"}
    expected.pop(name, None)
    assert decode_stored_properties(remove_properties(text, [name.encode()])) == expected


def test_a_separator_in_a_value_is_refused() -> None:
    with pytest.raises(PropertiesInvalid, match="separator 0x02"):
        set_properties(b"A\x01x", [(b"B", b"y\x02C\x01z")])
