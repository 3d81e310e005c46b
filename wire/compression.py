"""Inflating message bodies by the compression bits of the sysFlag.

Older clients compress with zlib and leave the three bits 0. lz4 and zstandard are optional packages and are
imported at first use only.
"""

import zlib
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Final

from rocketwire.wire.errors import CompressedBodyInvalid, CompressionUnavailable, CompressionUnknown
from rocketwire.wire.facts.codes import SysFlag

ZLIB: Final = "zlib"
LZ4: Final = "lz4"
ZSTD: Final = "zstd"

_TYPE_SHIFT: Final = 8
_ZSTD_PIECE: Final = 1024
_TYPES: Final = {
    0: ZLIB,
    SysFlag.COMPRESSION_LZ4 >> _TYPE_SHIFT: LZ4,
    SysFlag.COMPRESSION_ZSTD >> _TYPE_SHIFT: ZSTD,
    SysFlag.COMPRESSION_ZLIB >> _TYPE_SHIFT: ZLIB,
}


def compression_type(sys_flag: int) -> str | None:
    """How a body is compressed: ``zlib``, ``lz4``, ``zstd``, or None when it is not.

    Raises:
        CompressionUnknown: the sysFlag marks the body as compressed and has an unknown type.
    """
    if not sys_flag & SysFlag.COMPRESSED:
        return None
    kind = (sys_flag & SysFlag.COMPRESSION_MASK) >> _TYPE_SHIFT
    if kind not in _TYPES:
        raise CompressionUnknown(kind)
    return _TYPES[kind]


def decompress(body: bytes | memoryview, sys_flag: int, *, max_size: int) -> bytes:
    """Give the body as the producer's application had it; ``max_size`` in bytes bounds what comes out.

    Raises:
        CompressionUnknown: the compression type does not exist.
        CompressionUnavailable: the package for it is not installed.
        CompressedBodyInvalid: the body is damaged, cut short or larger than ``max_size`` when inflated.
    """
    kind = compression_type(sys_flag)
    if kind is None:
        return bytes(body)
    return _INFLATERS[kind](bytes(body), max_size)


def _inflate_zlib(body: bytes, max_size: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        result = inflater.decompress(body, max_size + 1)
    except zlib.error as error:
        raise CompressedBodyInvalid(f"zlib body is damaged: {error}") from error
    return _checked(result, ZLIB, max_size, complete=inflater.eof)


def _inflate_lz4(body: bytes, max_size: int) -> bytes:
    frame = _package("lz4.frame", LZ4, "lz4")
    inflater = frame.LZ4FrameDecompressor()
    try:
        result: bytes = inflater.decompress(body, max_size + 1)
    except RuntimeError as error:
        raise CompressedBodyInvalid(f"lz4 body is damaged: {error}") from error
    return _checked(result, LZ4, max_size, complete=inflater.eof)


def _inflate_zstd(body: bytes, max_size: int) -> bytes:
    zstandard = _package("zstandard", ZSTD, "zstandard")
    inflater = zstandard.ZstdDecompressor().decompressobj()
    parts: list[bytes] = []
    room = max_size
    try:
        # It has no limit: the output of a small piece is small.
        for at in range(0, len(body), _ZSTD_PIECE):
            parts.append(inflater.decompress(body[at : at + _ZSTD_PIECE]))
            room -= len(parts[-1])
            if room < 0 or inflater.eof:
                break
    except zstandard.ZstdError as error:
        raise CompressedBodyInvalid(f"zstd body is damaged: {error}") from error
    return _checked(b"".join(parts), ZSTD, max_size, complete=inflater.eof)


def _checked(result: bytes, kind: str, max_size: int, *, complete: bool) -> bytes:
    if len(result) > max_size:
        raise CompressedBodyInvalid(f"{kind} body is larger than {max_size} bytes when inflated")
    if not complete:
        raise CompressedBodyInvalid(f"{kind} body is cut short")
    return result


def _package(module: str, kind: str, package: str) -> ModuleType:
    try:
        return import_module(module)
    except ImportError as error:
        raise CompressionUnavailable(kind, package) from error


_INFLATERS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    ZLIB: _inflate_zlib,
    LZ4: _inflate_lz4,
    ZSTD: _inflate_zstd,
}
