"""Texts of options as values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.request import values


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("134217728", 128 << 20),
        ("128m", 128 << 20),
        ("128 MiB", 128 << 20),
        ("64KB", 64 << 10),
        ("1G", 1 << 30),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert values.size("o", text) == size


@pytest.mark.parametrize("text", ["", "0", "m", "12q", "1.5m", "-1", "m1", "1 mm", "9" * 30])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(OptionInvalid, match="option o cannot be"):
        values.size("o", text)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1769817600123", 1_769_817_600_123),
        ("2026-01-31", 1_769_817_600_000),
        ("20260131", 1_769_817_600_000),
        ("2026-01-31T01:00:00+01:00", 1_769_817_600_000),
        (" 2026-01-31 00:00:00.5 ", 1_769_817_600_500),
        ("1969-12-31T23:59:59.999", -1),
    ],
)
def test_times(text: str, ms: int) -> None:
    assert values.moment("o", text) == ms


@pytest.mark.parametrize("text", ["", "now", "1769817600", "2026-13-01", "9" * 19])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(OptionInvalid, match="ISO 8601"):
        values.moment("o", text)


def test_offsets() -> None:
    assert values.offsets("o", "Latest") == "latest"
    assert values.offsets("o", '{"T": {"0": 5, "1": -1}, "U": {}}') == {None: {"T": {0: 5, 1: -1}, "U": {}}}
    assert values.offsets("o", '{"a": {"T": {"0": 5}}, "b": {}}') == {"a": {"T": {0: 5}}, "b": {}}
    assert values.offsets("o", "{}") == {None: {}}


@pytest.mark.parametrize(
    "text",
    [
        *("", "newest", "[]", "5", '{"T": 5}', '{"T": [1]}', '{"T": {"x": 1}}', '{"T": {"0": "1"}}'),
        *('{"T": {"0": true}}', '{"T": {"0": 1.5}}', '{"a": {"T": {"0": 5}}, "b": {"T": 5}}', "[" * 100_000),
        *('{"T": {"0": -3}}', '{"T": {"0": 9223372036854775808}}', '{"T": {"2147483648": 1}}'),
    ],
)
def test_what_are_no_offsets(text: str) -> None:
    with pytest.raises(OptionInvalid, match="earliest, latest, or JSON"):
        values.offsets("startingOffsets", text)


@given(st.text())
def test_any_text_is_a_value_or_an_error(text: str) -> None:
    for read in (values.size, values.moment, values.offsets, values.boolean, values.whole, values.words):
        try:
            read("o", text)
        except OptionInvalid as error:
            assert str(error).startswith("[ROCKETMQ_OPTION_INVALID] option o cannot be")


def test_the_nearest_name() -> None:
    assert values.nearest("startingoffset", ["startingOffsets", "endingOffsets"]) == "Did you mean startingOffsets? "
    assert values.nearest("qqq", ["startingOffsets"]) == ""


def test_names_of_brokers() -> None:
    assert values.names_of_brokers("brokers", '{"/a": "x", "/b": "y"}') == {"/a": "x", "/b": "y"}
    for text in ("[]", "x", '{"/a": 1}', '{"/a": ""}', '{"/a": "x", "/b": "x"}'):
        with pytest.raises(OptionInvalid):
            values.names_of_brokers("brokers", text)
