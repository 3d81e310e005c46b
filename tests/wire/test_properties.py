import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.wire.errors import PropertiesInvalid
from rocketwire.wire.facts.properties import ITEM_SEP, NAME_SEP
from rocketwire.wire.properties import (
    decode_properties,
    decode_property_bytes,
    decode_stored_properties,
    encode_properties,
    property_value,
    split_properties,
)

names = st.text(st.characters(exclude_characters="\x01\x02"), min_size=1, max_size=10)
values = st.text(st.characters(exclude_characters="\x02"), min_size=1, max_size=10)
#: Few names and short values, so that names come twice, begin and end alike, and lack a part.
doubled = st.lists(st.text(st.sampled_from("\x01ABé"), max_size=5), max_size=6).map("\x02".join)
few_names = st.sampled_from(["A", "B", "AB", "é"])


@given(st.dictionaries(names, values))
def test_round_trip(properties: dict[str, str]) -> None:
    text = encode_properties(properties)
    assert decode_properties(text) == properties
    assert decode_properties(text + ITEM_SEP) == properties
    assert list(decode_properties(text)) == list(properties)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("A\x011", {"A": "1"}),
        ("A\x011\x02", {"A": "1"}),
        ("A\x01\x02B\x012", {"B": "2"}),
        ("\x011\x02B\x012", {"B": "2"}),
        ("no separator\x02B\x012", {"B": "2"}),
        ("WAIT\x01true\x02WAIT\x01false", {"WAIT": "false"}),
        ("A\x011\x012", {"A": "1\x012"}),
        ("\x01\x01\x01", {}),
    ],
)
def test_what_is_skipped(text: str, expected: dict[str, str]) -> None:
    assert decode_properties(text) == expected


def test_no_separator_at_the_end() -> None:
    assert encode_properties({"A": "1", "B": ""}) == "A\x011\x02B\x01"
    assert encode_properties({}) == ""


@pytest.mark.parametrize(
    "properties", [{"A" + NAME_SEP: "1"}, {"A" + ITEM_SEP: "1"}, {"A": "1", "B": ITEM_SEP}, {"A": "1\x02C\x013"}]
)
def test_separators_in_names_and_values_are_refused(properties: dict[str, str]) -> None:
    with pytest.raises(PropertiesInvalid, match="must not have the separators"):
        encode_properties(properties)


@given(doubled)
def test_all_items_are_those_that_are_decoded(text: str) -> None:
    found = decode_property_bytes(text.encode())
    assert {name.decode(): value.decode() for name, value in found.items()} == decode_properties(text)
    assert [name.decode() for name in found] == list(decode_properties(text))


@given(doubled, few_names)
@example("A\x01x\x02B\x01y", "A")
@example("B\x01x\x02A\x01y\x02", "A")
@example("B\x01x", "A")
@example("A\x01x\x02A\x01", "A")
@example("A\x01\x02A\x01x", "A")
@example("AB\x01x\x02B\x01A\x01y", "A")
def test_a_value_is_the_decoded_one(text: str, name: str) -> None:
    found = property_value(text.encode(), name.encode())
    assert (found and found.decode()) == decode_properties(text).get(name)


@given(st.lists(st.binary(max_size=6), max_size=5).map(b"\x02".join), few_names)
@example(b"\xe4\x01x\x02A\x01\xc3\x02A\x01y", "A")
@example(b"A\x01\xe4\x02A\x01", "A")
def test_bytes_that_are_no_text_are_read_as_text(text: bytes, name: str) -> None:
    found = property_value(text, name.encode())
    assert (found and str(found, "utf-8", "replace")) == decode_stored_properties(text).get(name)


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
        (b"a\x01x\x02ba\x01y", b"x"),
        (b"a\x01x\x02b\x01a\x01y", b"x"),
    ],
)
def test_which_value_counts(text: bytes, value: bytes | None) -> None:
    assert property_value(text, b"a") == value


own_names = st.sampled_from(["UNIQ_KEY", "KEYS", "A_KEYS", "TAGS", "UNIQ_KEYS", "X", "", "SUNIQ_KEY"])
own_items = st.tuples(own_names, st.sampled_from(["", "v", "k1 k2", "UNIQ_KEY", "KEYS\x01x"])).map("\x01".join)
own_texts = st.lists(own_items | st.sampled_from(["", "UNIQ_KEY", "KEYS"]), max_size=6).map("\x02".join)


@given(own_texts)
@example("UNIQ_KEY\x01u\x02KEYS\x01k")
@example("KEYS\x01k\x02UNIQ_KEY\x01u")
@example("a\x01b\x02UNIQ_KEY\x01u\x02c\x01d\x02KEYS\x01k\x02e\x01f\x02")
@example("a\x01b\x02UNIQ_KEY\x01u")
@example("KEYS\x01k")
def test_parts_are_those_of_the_whole(text: str) -> None:
    whole = decode_properties(text)
    unique_key, keys, others = split_properties(text.encode())
    assert (unique_key, keys) == (whole.pop("UNIQ_KEY", None), whole.pop("KEYS", None))
    rest = decode_properties(others.decode())
    assert {name: value for name, value in rest.items() if name not in ("UNIQ_KEY", "KEYS")} == whole


def test_messages_of_one_kind_have_the_same_others() -> None:
    one, other = (f"a\x01b\x02UNIQ_KEY\x01{key}\x02KEYS\x01{key}\x02TAGS\x01t".encode() for key in ("1", "22"))
    assert split_properties(one).shared_text == split_properties(other).shared_text == b"a\x01b\x02TAGS\x01t"


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert split_properties(b"UNIQ_KEY\x01\xff\x02a\x01b").unique_key == "\ufffd"
    assert split_properties(b"a\x01b\x02UNIQ_KEY\x01\xff\x02a\x01b").unique_key == "\ufffd"
