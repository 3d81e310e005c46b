import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.java import (
    INT32_MAX,
    INT32_MIN,
    INT64_MAX,
    hash_map_order,
    parse_natural_number,
    string_hash,
    to_int32,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("A", 65),
        ("TagA", 2598919),
        ("d", 100),
        ("TestTopic#KEY1", 1688031992),
        ("消息", 893927),
        ("😀", 1772899),
        ("polygenelubricants", INT32_MIN),
    ],
)
def test_string_hash_is_java_s(text: str, value: int) -> None:
    assert string_hash(text) == value


@given(st.text())
def test_string_hash_is_that_of_the_utf_16_units(text: str) -> None:
    expected = 0
    data = text.encode("utf-16-be")
    for at in range(0, len(data), 2):
        expected = to_int32(31 * expected + int.from_bytes(data[at : at + 2]))
    assert string_hash(text) == expected


def test_string_hash_takes_half_a_character() -> None:
    assert string_hash("\ud83d") == 0xD83D


@given(st.integers())
def test_to_int32_is_the_low_32_bits(value: int) -> None:
    result = to_int32(value)
    assert INT32_MIN <= result <= INT32_MAX
    assert (result - value) % 2**32 == 0


@given(st.integers(0, INT64_MAX))
def test_a_natural_number_is_read(value: int) -> None:
    assert parse_natural_number(str(value)) == value
    assert parse_natural_number(b"%d" % value, INT32_MAX) == (value if value <= INT32_MAX else None)


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "x", "²", "٣", str(INT64_MAX + 1), "9" * 5000])
def test_another_text_is_no_natural_number(text: str) -> None:
    assert parse_natural_number(text) is None
    assert parse_natural_number(text.encode()) is None


@pytest.mark.parametrize(
    ("put", "seen"),
    [  # as a JVM prints the keys of such maps
        ([], []),
        (["WAIT", "UNIQ_KEY", "AAA", "CLUSTER"], ["AAA", "UNIQ_KEY", "CLUSTER", "WAIT"]),
        (["b", "a", "b"], ["a", "b"]),
        (["BB", "Aa"], ["BB", "Aa"]),
        (["属性", "x"], ["属性", "x"]),
        ([f"key{n}" for n in range(14)], [f"key{n}" for n in (1, 2, 0, 5, 6, 3, 4, 9, 7, 8, 11, 10, 13, 12)]),
    ],
)
def test_keys_come_out_of_a_hash_map_in_its_order(put: list[str], seen: list[str]) -> None:
    assert list(hash_map_order(put)) == seen
