"""Odd records, made by construct, and what their columns must be by construct and `store cat`."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import lz4.frame
import zstandard
from hypothesis import strategies as st

from rocketwire.cli.shown_message import json_object
from rocketwire.spark.schema import COLUMNS, PLACE_COLUMNS
from rocketwire.store.offline.read.selected import with_properties
from rocketwire.wire.compression import decompress
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2, RECORD
from rocketwire.wire.message import body_crc, decode_record

#: The columns that come out of a record.
RECORD_COLUMNS = tuple(name for name in COLUMNS if name not in PLACE_COLUMNS)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
_INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
#: What Python's own datetime can show.
_TIMES = st.integers(-62_135_596_800_000, 253_402_300_799_999)
_COMPRESSIONS = {
    0: zlib.compress,
    int(SysFlag.COMPRESSION_ZLIB): zlib.compress,
    int(SysFlag.COMPRESSION_LZ4): lz4.frame.compress,
    int(SysFlag.COMPRESSION_ZSTD): zstandard.ZstdCompressor().compress,
}

#: What property texts are made of: separators, the names that have columns, parts of them, and bytes that are no text.
_PIECES = st.sampled_from(
    [
        *b"TAGS KEYS UNIQ_KEY TAG T a value longer_than_a_word longer-than_a_word k1".split(),
        *[b"TAGS\x01", b"\x02KEYS\x01", b"UNIQ_KEY\x01", b"a\x01v\x02", b"a\x01w", b"longer_than_a_word\x01"],
        *[b"\x01", b"\x02", b"\x01", b"\x02", b" ", b"\x00", b"\xff", b"\xc3", b"\xe6\x97", b"\xed\xa0\x80"],
        *["ü".encode(), "日本".encode(), "\ufffd".encode()],
    ]
)
property_texts = st.one_of(
    st.lists(_PIECES, max_size=20).map(b"".join),
    st.dictionaries(
        st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "WAIT", "a", "b"]), st.text("ab ü", max_size=9), max_size=6
    ).map(lambda items: "\x02".join(f"{name}\x01{value}" for name, value in items.items()).encode()),
    st.integers(0, 40).map(lambda count: b"".join(b"n%d\x01v\x02" % (n % 37) for n in range(count))),
    st.binary(max_size=40),
)
_topics = st.one_of(
    st.sampled_from([b"T", b"Topic", "Thème".encode(), b"%RETRY%G"]),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20).map(str.encode),
)


@st.composite
def records(draw: st.DrawFn, times: st.SearchStrategy[int] = _TIMES) -> dict[str, Any]:
    """The fields of a record as construct builds it, but for where it is."""
    sys_flag = draw(st.one_of(st.just(0), st.sampled_from([16, 32, 48]), _INT32)) & ~SysFlag.COMPRESSED
    body = draw(st.one_of(st.just(b""), st.binary(max_size=60), st.sampled_from([b"\xda\xa3\x20\xa7" * 40])))
    how = draw(st.one_of(st.none(), st.none(), st.sampled_from(sorted(_COMPRESSIONS)), st.just(7 << 8)))
    if how is not None:
        sys_flag = sys_flag & ~SysFlag.COMPRESSION_MASK | how | SysFlag.COMPRESSED
        body = _COMPRESSIONS[how](body) if how in _COMPRESSIONS else body
        body = body[: draw(st.sampled_from([len(body), 5]))]
    magic = draw(st.sampled_from([MAGIC_V1, MAGIC_V2]))
    topic = draw(_topics)
    if magic == MAGIC_V2:
        topic *= draw(st.sampled_from([1, 1, 9]))
    return {
        "total_size": 0,
        "magic": magic,
        "body_crc": body_crc(body),
        "queue_id": draw(_INT32),
        "flag": draw(_INT32),
        "queue_offset": draw(_INT64),
        "physical_offset": 0,
        "sys_flag": sys_flag,
        "born_timestamp": draw(times),
        "born_host": draw(_host(sys_flag & SysFlag.BORN_HOST_V6)),
        "store_timestamp": draw(times),
        "store_host": draw(_host(sys_flag & SysFlag.STORE_HOST_V6)),
        "reconsume_times": draw(_INT32),
        "prepared_transaction_offset": draw(_INT64),
        "body": body,
        "topic": topic,
        "properties": draw(property_texts),
    }


def _host(long: int) -> st.SearchStrategy[bytes]:
    size = 20 if long else 8
    return st.one_of(
        st.binary(min_size=size, max_size=size),
        st.sampled_from(
            [b"\x7f\0\0\1\0\0\x2a\x9f", bytes(8)] if size == 8 else [bytes(20), bytes(10) + b"\xff" * 6 + bytes(4)]
        ),
    )


def stored(fields: Sequence[dict[str, Any]], base: int = 0) -> bytes:
    """The records one after the other, the first of them at a physical offset."""
    log = bytearray()
    for each in fields:
        whole = RECORD.build(each | {"physical_offset": base + len(log)})
        log += struct.pack(">i", len(whole)) + whole[4:]
    return bytes(log)


def positions_in(log: bytes) -> list[int]:
    """Where the records of a log begin, by their sizes."""
    found, at = [], 0
    while at < len(log):
        found.append(at)
        at += int.from_bytes(log[at : at + 4])
    return found


def cat(log: bytes, at: int, *, decompressed: bool = True) -> dict[str, Any]:
    """The row of a record as `store cat` has it; times as the column has them, the body as bytes."""
    size = int.from_bytes(log[at : at + 4])
    message = decode_record(log[at : at + size], check_crc=False)
    row = json_object(with_properties(message, size), lambda _: None)
    fields = RECORD.parse(log[at : at + size])
    for name in ("queue_id", "queue_offset", "sys_flag", "flag", "reconsume_times", "body_crc", "physical_offset"):
        assert row[name] == fields[name]
    row["body"] = message.body
    if decompressed:
        try:
            row["body"] = decompress(message.body, message.sys_flag, max_size=1 << 20)
        except WireError:
            row["body"] = None
    for name in ("born_timestamp", "store_timestamp"):
        row[name] = EPOCH + timedelta(milliseconds=row[name])
    return {name: row[name] for name in RECORD_COLUMNS}
