import sys
import zlib

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.compression import compression_type, decompress
from rocketwire.wire.errors import CompressedBodyInvalid, CompressionUnavailable, CompressionUnknown
from rocketwire.wire.facts.codes import SysFlag

KINDS = {
    0x001: ("zlib", zlib.compress),
    0x301: ("zlib", zlib.compress),
    0x101: ("lz4", lz4.frame.compress),
    0x201: ("zstd", zstandard.ZstdCompressor().compress),
}
BODY = b"a body that repeats itself, " * 100


@pytest.mark.parametrize("sys_flag", KINDS)
@given(body=st.binary())
def test_round_trip(sys_flag: int, body: bytes) -> None:
    name, compress = KINDS[sys_flag]
    assert compression_type(sys_flag) == name
    assert decompress(compress(body), sys_flag, max_size=len(body)) == body
    assert decompress(memoryview(compress(body)), sys_flag, max_size=1 << 20) == body


@pytest.mark.parametrize("sys_flag", [0, 0x300, 0x10, SysFlag.TRANSACTION_PREPARED])
def test_a_body_that_is_not_compressed_stays(sys_flag: int) -> None:
    assert compression_type(sys_flag) is None
    assert decompress(memoryview(BODY), sys_flag, max_size=1) == BODY


@pytest.mark.parametrize("kind", [4, 5, 6, 7])
def test_unknown_types(kind: int) -> None:
    with pytest.raises(CompressionUnknown, match=f"type {kind} is unknown") as caught:
        decompress(b"", kind << 8 | 1, max_size=10)
    assert caught.value.kind == kind


@pytest.mark.parametrize("sys_flag", KINDS)
def test_bodies_that_become_too_large(sys_flag: int) -> None:
    name, compress = KINDS[sys_flag]
    assert decompress(compress(BODY), sys_flag, max_size=len(BODY)) == BODY
    with pytest.raises(CompressedBodyInvalid, match=f"{name} body is larger than {len(BODY) - 1} bytes"):
        decompress(compress(BODY), sys_flag, max_size=len(BODY) - 1)


@pytest.mark.parametrize("sys_flag", KINDS)
def test_bombs_are_stopped(sys_flag: int) -> None:
    bomb = KINDS[sys_flag][1](bytes(64 << 20))
    with pytest.raises(CompressedBodyInvalid, match="larger than 1000 bytes"):
        decompress(bomb, sys_flag, max_size=1000)


@pytest.mark.parametrize("sys_flag", KINDS)
def test_damaged_and_cut_bodies(sys_flag: int) -> None:
    name, compress = KINDS[sys_flag]
    whole = compress(BODY)
    with pytest.raises(CompressedBodyInvalid, match=f"{name} body is cut short"):
        decompress(whole[:-1], sys_flag, max_size=1 << 20)
    with pytest.raises(CompressedBodyInvalid, match=f"{name} body is cut short"):
        decompress(b"", sys_flag, max_size=1 << 20)
    with pytest.raises(CompressedBodyInvalid, match=f"{name} body is damaged"):
        decompress(b"x" * 100, sys_flag, max_size=1 << 20)


@pytest.mark.parametrize(
    ("sys_flag", "module", "package"), [(0x101, "lz4.frame", "lz4"), (0x201, "zstandard", "zstandard")]
)
def test_missing_packages(monkeypatch: pytest.MonkeyPatch, sys_flag: int, module: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(CompressionUnavailable, match=f"install the package {package}") as caught:
        decompress(b"", sys_flag, max_size=1)
    assert caught.value.package == package
