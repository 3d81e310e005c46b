"""Rows of records agree with construct and `store cat`, and damaged bodies are handled by the option `mode`."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import lz4.frame
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.errors import PackageMissing
from rocketwire.spark.read import rows as rows_module
from rocketwire.spark.read.rows import Rows, record_in
from rocketwire.spark.request.options import DamageMode, ReadOptions
from rocketwire.spark.request.request import ReadRequest
from rocketwire.store.records.walk import walk
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.message import MessageRecord, body_crc, encode_record
from tests.spark.records import RECORD_COLUMNS, cat, positions_in, records, stored

BODY = b"a message" * 100
ZLIB = zlib.compress(BODY)
COMPRESSED = int(SysFlag.COMPRESSED)


def batches(log: bytes, columns: Sequence[str], **options: Any) -> list[pa.RecordBatch]:
    """What is made of all records of a log."""
    rows = Rows(ReadRequest(options=ReadOptions(columns=tuple(columns), **options)), "a")
    found: list[pa.RecordBatch] = []
    for at in positions_in(log):
        record = record_in(log, at, int.from_bytes(log[at : at + 4]))
        assert record is not None
        found += rows.of(record, "file")
    return [*found, *rows.rest()]


def as_rows(found: Sequence[pa.RecordBatch]) -> list[dict[str, Any]]:
    for batch in found:
        batch.validate(full=True)
    rows = [row for batch in found for row in batch.to_pylist()]
    for row in rows:
        if row.get("properties") is not None:
            row["properties"] = dict(row["properties"])
    return rows


@given(st.lists(records(), max_size=6), st.integers(0, 1 << 40), st.booleans())
def test_every_column_of_any_record_is_as_store_cat_shows_it(
    fields: list[dict[str, Any]], base: int, decompressed: bool
) -> None:
    log = stored(fields, base)
    expected = [cat(log, at, decompressed=decompressed) for at in positions_in(log)]
    found = as_rows(batches(log, (*RECORD_COLUMNS, "_corrupt_record"), decompress=decompressed))
    for row, wanted in zip(found, expected, strict=True):
        reason = row.pop("_corrupt_record")
        if wanted["body"] is None:
            assert reason == "its body cannot be inflated"
            names = ("topic", "queue_id", "queue_offset", "physical_offset", "store_size")
            assert {name: row[name] for name in names} == {name: wanted[name] for name in names}
        else:
            assert (row, reason) == (wanted, None)


@given(st.lists(records(), min_size=1, max_size=4), st.lists(st.sampled_from(RECORD_COLUMNS), min_size=1, unique=True))
def test_columns_can_be_named_in_any_choice_and_order(fields: list[dict[str, Any]], names: list[str]) -> None:
    log = stored(fields)
    whole = as_rows(batches(log, RECORD_COLUMNS, mode=DamageMode.DROPMALFORMED, decompress=False))
    found = as_rows(batches(log, names, decompress=False))
    assert [list(row.items()) for row in found] == [[(name, row[name]) for name in names] for row in whole]


@given(st.lists(records(st.integers(-(1 << 63), (1 << 63) - 1)), min_size=1, max_size=4))
def test_times_beyond_what_arrow_has_are_the_nearest_it_has(fields: list[dict[str, Any]]) -> None:
    for name in ("born_timestamp", "store_timestamp"):
        [found] = batches(stored(fields), [name])
        expected = [min(max(each[name] * 1000, -(1 << 63)), (1 << 63) - 1) for each in fields]
        assert found.column(0).cast(pa.int64()).to_pylist() == expected


@given(st.lists(records(), min_size=1, max_size=4), st.lists(st.tuples(st.integers(0, 999), st.integers(1, 255))))
def test_a_record_is_whole_where_the_walk_of_the_store_finds_it(
    fields: list[dict[str, Any]], changes: list[tuple[int, int]]
) -> None:
    log = bytearray(stored(fields))
    positions = [*positions_in(bytes(log)), len(log)]
    for at, change in changes:
        log[at % len(log)] ^= change
    for at, behind in pairwise(positions):
        walked = walk(log, base=None, position=at, end=behind, whole=True, check_crc=False, most=1).records
        assert (record_in(log, at, behind - at) is not None) == (walked.size.tolist() == [behind - at])
    assert record_in(log, -1, 91) is record_in(log, len(log), 91) is None


@pytest.mark.parametrize(
    ("body", "flag"),
    [
        (ZLIB, COMPRESSED),
        (ZLIB, COMPRESSED | SysFlag.COMPRESSION_ZLIB),
        (lz4.frame.compress(BODY), COMPRESSED | SysFlag.COMPRESSION_LZ4),
        (zstandard.ZstdCompressor().compress(BODY), COMPRESSED | SysFlag.COMPRESSION_ZSTD),
    ],
)
def test_compressed_bodies_are_inflated(body: bytes, flag: int, monkeypatch: pytest.MonkeyPatch) -> None:
    log = encode_record(MessageRecord(topic="T", queue_id=0, body=body, sys_flag=int(flag)))
    [[row], [as_stored]] = (as_rows(batches(log, ["body"], decompress=inflated)) for inflated in (True, False))
    assert (row["body"], as_stored["body"]) == (BODY, body)
    monkeypatch.setattr(rows_module, "_MOST_INFLATED", len(BODY) - 1)
    [row] = as_rows(batches(log, ["body", "_corrupt_record"]))
    assert row == {"body": None, "_corrupt_record": "its body cannot be inflated"}


def test_a_missing_package_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    flag = int(COMPRESSED | SysFlag.COMPRESSION_ZSTD)
    log = encode_record(MessageRecord(topic="T", queue_id=0, body=b"compressed", sys_flag=flag))
    with pytest.raises(PackageMissing, match="compressed with zstd: install the package zstandard"):
        batches(log, ["body"])


def test_bodies_are_checked_by_their_crc() -> None:
    bodies = [(b"a", body_crc(b"a")), (b"", 7), (b"other", 7), (b"", 0), (b"a" * 3000, -1)]
    log = b"".join(encode_record(MessageRecord(topic="T", queue_id=0, body=body, body_crc=crc)) for body, crc in bodies)
    reasons = [row["_corrupt_record"] for row in as_rows(batches(log, ["body", "_corrupt_record"]))]
    damaged = "its body has another CRC than its record says"
    assert reasons == [None, None, damaged, None, damaged]
    assert [row["body"] for row in as_rows(batches(log, ["body"], verify_checksums=False))] == [b for b, _ in bodies]


def test_a_batch_is_bounded_by_rows_and_by_bytes() -> None:
    one, large = (MessageRecord(topic="T", queue_id=0, body=body) for body in (b"b", bytes(700_000)))
    many = batches(encode_record(one) * 5000, ["body"])
    assert [batch.num_rows for batch in many] == [4096, 904]
    assert [batch.num_rows for batch in batches(encode_record(large) * 3, ["body"])] == [2, 1]
