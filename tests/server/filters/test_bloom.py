from __future__ import annotations

import pytest

from rocketwire.server.filters.bloom import bloom_bits, murmur3


@pytest.mark.parametrize(
    ("group", "topic", "bits"),
    [("G2", "TestTopic", [82, 79, 17]), ("golden_cg_sql", "GoldenSql", [63, 71, 64])],
)
def test_the_bits_equal_those_that_apache_wrote(group: str, topic: str, bits: list[int]) -> None:
    assert bloom_bits(group, topic) == {"bitNum": 112, "bitPos": bits}


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (b"", 0),
        (b"hello", 0xCBD8A7B341BD9B02),
        (b"The quick brown fox jumps over the lazy dog", 0xE34BBC7BBC071B6C),
    ],
)
def test_the_hash_equals_the_published_one(data: bytes, digest: int) -> None:
    assert murmur3(data) == digest
