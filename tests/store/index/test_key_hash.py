"""Hashes of keys against Java's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.index.key_hash import positive_hash, positive_hashes
from rocketwire.wire.java import string_hash


@given(keys=st.lists(st.tuples(st.text(max_size=5), st.text(max_size=12)), max_size=20))
def test_hashes_of_many_keys_are_javas(keys: list[tuple[str, str]]) -> None:
    prefixes = [string_hash(topic + "#") for topic, _ in keys]
    found = positive_hashes(prefixes, [key for _, key in keys])
    assert found.tolist() == [positive_hash(f"{topic}#{key}") for topic, key in keys]


def test_the_hash_without_a_positive_twin_is_zero() -> None:
    key = "polygenelubricants"
    assert string_hash(key) == -(1 << 31)
    assert positive_hash(key) == 0
    assert positive_hashes([0], [key]).tolist() == [0]
