"""The properties of stored records are what decoding gives."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.store.records.property_text import TagCodes, delivery_time, property_text
from rocketwire.store.settings import DELAY_LEVELS
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.properties import decode_stored_properties
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
def test_a_tags_code_is_that_of_the_decoded_tags(text: bytes) -> None:
    assert TagCodes().of([text]) == [string_hash(decode_stored_properties(text).get("TAGS", ""))]


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


PROPERTIES = b"a\x015\x02b\x01x"
BEFORE = 40
IPV4, IPV6 = ("10.0.0.1", 1), ("2001:db8::1", 1)


@contextmanager
def mapped(record: bytes) -> Iterator[mmap.mmap]:
    """A file with a record somewhere in it, and something behind it."""
    with closing(mmap.mmap(-1, BEFORE + len(record) + 10)) as mapping:
        mapping[BEFORE:] = record + b"\xff" * 10
        yield mapping


@pytest.mark.parametrize("magic", [MAGIC_V1, MAGIC_V2])
@pytest.mark.parametrize("born", [IPV4, IPV6])
@pytest.mark.parametrize("store", [IPV4, IPV6])
@pytest.mark.parametrize("topic", ["T", "t" * 127])
@pytest.mark.parametrize("properties", [PROPERTIES, b""])
def test_the_text_of_every_form_of_record(
    magic: int, born: tuple[str, int], store: tuple[str, int], topic: str, properties: bytes
) -> None:
    record = encode_record(
        MessageRecord(
            topic=topic, queue_id=0, body=b"body", properties=properties, magic=magic, born_host=born, store_host=store
        )
    )
    with mapped(record) as mapping:
        assert property_text(mapping, BEFORE, BEFORE + len(record)) == properties


def test_damaged_records_have_none() -> None:
    record = encode_record(MessageRecord(topic="T", queue_id=0, body=b"body", properties=PROPERTIES))
    length_at = record.index(b"body") - 4
    for length in (-1, 2**31 - 1, len(record)):
        damaged = record[:length_at] + length.to_bytes(4, signed=True) + record[length_at + 4 :]
        with mapped(damaged) as mapping:
            assert property_text(mapping, BEFORE, BEFORE + len(damaged)) == b""
    with mapped(record) as mapping:
        assert property_text(mapping, len(mapping) - 5, len(mapping)) == b""
