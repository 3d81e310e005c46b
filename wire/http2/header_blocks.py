"""Blocks of headers: HPACK, as the library `hpack` has it.

The library decodes Huffman codes and long integers, keeps the table of headers, and encodes. Its decoder makes several
objects for each header, and offers each to the log, which would be a fifth of all that a call costs: so the way through
a block is our own. `tests/wire/http2/test_header_blocks.py` proves that it finds what the library's decoder does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from hpack import Encoder
from hpack.exceptions import HPACKError
from hpack.hpack import decode_integer
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from rocketwire.wire.http2.events import COMPRESSION_ERROR, ENHANCE_YOUR_CALM
from rocketwire.wire.http2.guard import Violation

ENTRY_OVERHEAD: Final = 32
"""What a header counts besides its name and value, in bytes."""
TABLE_SIZE: Final = 4096
"""The size of the table of headers, HTTP/2's own default, in bytes."""
FORGET_ALL: Final = b"\x20"
"""The beginning of a block that says: the table of its sender has no room."""

Headers: TypeAlias = list[tuple[bytes, bytes]]
_STATIC: Final = HeaderTable.STATIC_TABLE
_STATIC_LENGTH: Final = len(_STATIC)
_LONGEST_INTEGER: Final = 8  # bytes; the library takes fewer
_KEPT, _SIZE = 0x40, 0x20  # the first bits of a header that the table keeps, of a change of its size


class HeaderBlocks:
    """Decodes the blocks of one connection, all of them, in order; `most` bounds the headers of each in bytes."""

    __slots__ = ("_most", "_table")

    def __init__(self, most: int) -> None:
        self._most = most
        self._table = HeaderTable()

    def decode(self, block: bytes) -> tuple[Headers, int]:
        """The headers of a block, and their size as SETTINGS_MAX_HEADER_LIST_SIZE counts it.

        Raises:
            Violation: it is no such block, or is too large: the table is of no use any more.
        """
        try:
            return self._decode(block)
        except (HPACKError, IndexError) as error:
            raise Violation(COMPRESSION_ERROR, f"a block of headers cannot be decoded: {error}") from error

    def _decode(self, block: bytes) -> tuple[Headers, int]:
        headers: Headers = []
        at, size, most, end = 0, 0, self._most, len(block)
        kept = self._table.dynamic_entries
        while at < end:
            first = block[at]
            if 0x80 < first < 0xFF:
                index = first & 0x7F
                header = _STATIC[index - 1] if index <= _STATIC_LENGTH else kept[index - _STATIC_LENGTH - 1]
                at += 1
            elif first >= 0x80:
                index, at = _integer(block, at, 7)
                header = self._table.get_by_index(index)
            elif first & 0xE0 == _SIZE:
                at = self._resize(block, at, begun=bool(headers))
                continue
            else:
                header, at = self._literal(block, at, first)
            headers.append(header)
            size += len(header[0]) + len(header[1]) + ENTRY_OVERHEAD
            if size > most:
                raise Violation(ENHANCE_YOUR_CALM, f"headers of more than {most} bytes")
        return headers, size

    def _literal(self, block: bytes, at: int, first: int) -> tuple[tuple[bytes, bytes], int]:
        bits = 6 if first & _KEPT else 4
        mask = (1 << bits) - 1
        index = first & mask
        if index == 0:
            name, at = _text(block, at + 1)
        else:
            index, at = (index, at + 1) if index < mask else _integer(block, at, bits)
            name = self._table.get_by_index(index)[0]
        value, at = _text(block, at)
        if first & _KEPT:
            self._table.add(name, value)
        return (name, value), at

    def _resize(self, block: bytes, at: int, *, begun: bool) -> int:
        size, at = _integer(block, at, 5)
        if begun or size > TABLE_SIZE:
            raise Violation(COMPRESSION_ERROR, "a table of headers changes its size where, or as, it may not")
        self._table.maxsize = size
        return at


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    number, used = decode_integer(block[at : at + _LONGEST_INTEGER], bits)
    return number, at + used


def _text(block: bytes, at: int) -> tuple[bytes, int]:
    first = block[at]
    length = first & 0x7F
    if length < 0x7F:
        at += 1
    else:
        length, at = _integer(block, at, 7)
    end = at + length
    if end > len(block):
        raise Violation(COMPRESSION_ERROR, "a block of headers ends within a text")
    text = block[at:end]
    return (decode_huffman(text) if first & 0x80 else text), end


def encode(headers: Sequence[tuple[str, str]]) -> bytes:
    """A block that means the same whatever came before it, and leaves nothing in its reader's table."""
    # An encoder of its own, and no header that is to be kept: what it makes refers to the static table only.
    return Encoder().encode([(*header, True) for header in headers], huffman=False)
