"""Bodies that were compressed."""

import sys
import zlib

import lz4.frame
import numpy as np
import pyarrow as pa
import pytest
import zstandard

from rocketwire.spark.columns import inflating
from rocketwire.spark.columns.inflating import inflated
from rocketwire.spark.errors import PackageMissing
from rocketwire.wire.facts.codes import SysFlag

BODY = b"a message" * 100
ZLIB = zlib.compress(BODY)
COMPRESSED = int(SysFlag.COMPRESSED)


def flags(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, np.int32)


def test_bodies_that_were_not_compressed_stay_the_same_column() -> None:
    bodies = pa.array([b"a", b""], pa.binary())
    assert inflated(bodies, flags(0, int(SysFlag.COMPRESSION_LZ4))) == (bodies, None)


def test_every_compression_is_undone_where_the_flag_says_so() -> None:
    stored = [ZLIB, b"plain", ZLIB, lz4.frame.compress(BODY), zstandard.ZstdCompressor().compress(BODY), ZLIB]
    kinds = flags(
        COMPRESSED,
        0,
        COMPRESSED | SysFlag.COMPRESSION_ZLIB,
        COMPRESSED | SysFlag.COMPRESSION_LZ4,
        COMPRESSED | SysFlag.COMPRESSION_ZSTD,
        0,
    )
    bodies, bad = inflated(pa.array(stored, pa.binary()), kinds)
    assert bodies.type == pa.binary()
    assert bodies.to_pylist() == [BODY, b"plain", BODY, BODY, BODY, ZLIB]
    assert bad is None


def test_what_cannot_be_inflated_is_null_and_told() -> None:
    stored = [ZLIB[:-5], ZLIB, b"plain", b"no zlib", ZLIB]
    kinds = flags(COMPRESSED, COMPRESSED, 0, COMPRESSED, COMPRESSED | 7 << 8)
    bodies, bad = inflated(pa.array(stored, pa.binary()), kinds)
    assert bodies.to_pylist() == [None, BODY, b"plain", None, None]
    assert bad is not None
    assert bad.tolist() == [True, False, False, True, True]


def test_a_body_that_would_be_larger_than_any_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflating, "_MOST_INFLATED", len(BODY) - 1)
    assert inflated(pa.array([ZLIB], pa.binary()), flags(COMPRESSED))[0].to_pylist() == [None]


def test_more_than_a_column_holds_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflating, "INT32_MAX", 3 * len(BODY))
    inflated(pa.array([ZLIB] * 2, pa.binary()), flags(COMPRESSED, COMPRESSED))
    with pytest.raises(ValueError, match="3 bodies are too large together"):
        inflated(pa.array([ZLIB] * 3, pa.binary()), flags(COMPRESSED, COMPRESSED, COMPRESSED))


def test_bodies_are_large_together_long_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflating, "_MOST_TOGETHER", 2 * len(BODY) - 1)
    with pytest.raises(ValueError, match="2 bodies are too large together"):
        inflated(pa.array([ZLIB] * 2, pa.binary()), flags(COMPRESSED, COMPRESSED))
    monkeypatch.setattr(inflating, "_MOST_TOGETHER", 1)
    assert inflated(pa.array([ZLIB], pa.binary()), flags(COMPRESSED))[0].to_pylist() == [BODY]


def test_a_package_that_is_missing_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    body = zstandard.ZstdCompressor().compress(BODY)
    with pytest.raises(PackageMissing, match="compressed with zstd: install the package zstandard"):
        inflated(pa.array([body], pa.binary()), flags(COMPRESSED | SysFlag.COMPRESSION_ZSTD))
