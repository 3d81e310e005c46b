from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from rocketwire.store.records.record_text import property_text
from rocketwire.wire.message import MAGIC_V1, MAGIC_V2, Message, encode_record

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
        Message(
            topic=topic, queue_id=0, body=b"body", properties=properties, magic=magic, born_host=born, store_host=store
        )
    )
    with mapped(record) as mapping:
        assert property_text(mapping, BEFORE, BEFORE + len(record)) == properties


def test_damaged_records_have_none() -> None:
    record = encode_record(Message(topic="T", queue_id=0, body=b"body", properties=PROPERTIES))
    length_at = record.index(b"body") - 4
    for length in (-1, 2**31 - 1, len(record)):
        damaged = record[:length_at] + length.to_bytes(4, signed=True) + record[length_at + 4 :]
        with mapped(damaged) as mapping:
            assert property_text(mapping, BEFORE, BEFORE + len(damaged)) == b""
    with mapped(record) as mapping:
        assert property_text(mapping, len(mapping) - 5, len(mapping)) == b""
