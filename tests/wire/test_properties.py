import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import PropertiesInvalid
from rocketwire.wire.properties import ITEM_SEP, NAME_SEP, decode_properties, encode_properties

names = st.text(st.characters(exclude_characters="\x01\x02"), min_size=1, max_size=10)
values = st.text(st.characters(exclude_characters="\x02"), min_size=1, max_size=10)


@given(st.dictionaries(names, values))
def test_round_trip(properties: dict[str, str]) -> None:
    text = encode_properties(properties)
    assert decode_properties(text) == properties
    assert decode_properties(text + ITEM_SEP) == properties
    assert list(decode_properties(text)) == list(properties)


@given(st.text(st.sampled_from("\x01\x02ab")))
def test_any_text_is_read(text: str) -> None:
    found = decode_properties(text)
    assert all(found.values())
    assert decode_properties(encode_properties(found)) == found


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
def test_what_is_passed_over(text: str, expected: dict[str, str]) -> None:
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
