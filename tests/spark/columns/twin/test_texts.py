"""Property texts read many at a time, as wire.properties reads each."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.spark.columns.twin import texts
from rocketwire.spark.columns.twin.texts import Texts, texts_of
from rocketwire.wire.properties import decode_stored_properties
from tests.spark.records import property_texts


def read(stored: list[bytes]) -> Texts:
    """Texts as a buffer has them: each with a byte before it, and something behind the last."""
    lengths = np.array([len(text) for text in stored], np.int64)
    buffer = b"".join(b"\x07" + text for text in stored) + b"\x02TAGS\x01no"
    ends = np.cumsum(lengths + 1)
    return texts_of(buffer, ends - lengths, ends)


def maps(stored: list[bytes]) -> list[dict[str, str]]:
    offsets, names, values = read(stored).map()
    pairs = list(zip(names.to_pylist(), values.to_pylist(), strict=True))
    found = [dict(pairs[begin:end]) for begin, end in pairwise(offsets.tolist())]
    assert len(pairs) == sum(map(len, found))
    return found


def decoded(stored: list[bytes]) -> list[dict[str, str]]:
    return [decode_stored_properties(text) for text in stored]


@given(st.lists(property_texts, max_size=8))
@example([b"n\x01v\x02" * 20, b"", b"a\x01\x02\x01b\x02a", b"\xff\x01v\x02\xfe\x01w"])
@example([b"TAGS\x01a\x02TAGS\x01b", b"", b"KEYS\x01a"])
@example([b"TAGS_\x01a", b"TAGSX\x01v\x02TAGS\x01w", b"KEYS\x01a\x02KEYSKEYS\x01b"])
@example([b"abc\x01v\x02abd\x01v\x02abc\x01w"])
@example([b"0123456789\x01v\x02012345678_\x01v\x020123456789\x01w"])
def test_maps_values_and_words_are_those_of_the_decoder(stored: list[bytes]) -> None:
    expected = decoded(stored)
    assert maps(stored) == expected
    assert [list(found) for found in maps(stored)] == [list(properties) for properties in expected]
    found = read(stored)
    for name in ("TAGS", "KEYS", "UNIQ_KEY"):
        values = found.last_of(name)
        assert {
            row: found.octets[begin:end].tobytes().decode()
            for row, begin, end in zip(*(column.tolist() for column in values), strict=True)
        } == {row: properties[name] for row, properties in enumerate(expected) if name in properties}
        offsets, words = found.words_of(name)
        assert [words.to_pylist()[begin:end] for begin, end in pairwise(offsets.tolist())] == [
            [word for word in properties.get(name, "").split(" ") if word] for properties in expected
        ]


def test_only_odd_texts_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_one: list[bytes] = []

    def decode(text: bytes) -> dict[str, str]:
        one_by_one.append(text)
        return decode_stored_properties(text)

    monkeypatch.setattr(texts, "decode_stored_properties", decode)
    plain = [b"a\x01v\x02b\x01v", "ü\x01日本".encode(), b"TAGS\x01t\x02", b"\x02\x02x\x01", b"", b"a\x01\x02a\x01v"]
    assert maps(plain * 50) == decoded(plain * 50)
    assert one_by_one == []
    odd = [b"a\x01v\x02a\x01w", b"a\x01\xff"]
    assert maps(plain + odd + plain) == decoded(plain + odd + plain)
    assert sorted(one_by_one) == odd


def test_many_properties_in_a_text() -> None:
    many = b"\x02".join(b"name-%d\x01%d" % (n, n) for n in range(500))
    stored: list[Any] = [many, many + b"\x02name-7\x01last", b"a\x01b"]
    assert maps(stored) == decoded(stored)
