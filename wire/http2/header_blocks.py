"""Blocks of headers: HPACK, as the library `hpack` has it.

The library decodes Huffman codes and long integers, keeps the table of headers, and encodes. Its decoder makes several
objects for each header, and offers each to the log, which would be a fifth of all that a call costs: so the way through
a block is our own. `tests/wire/http2/test_header_blocks.py` proves that it finds what the library's decoder does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from hpack import Encoder
from hpack.exceptions import HPACKError
from hpack.hpack import decode_integer
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from rocketwire.wire.http2.events import COMPRESSION_ERROR, ENHANCE_YOUR_CALM
from rocketwire.wire.http2.guard import Http2Violation

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
_RUN: Final = re.compile(rb"[\x81-\xfe]{4,64}")
_MOST_RUNS: Final = 32  # that are kept
_LONGEST_RUN: Final = 4096  # bytes of its headers
_SHORT: Final = 128  # bytes of a text whose decoded form is kept
_KEPT, _SIZE = 0x40, 0x20  # the first bits of a header that the table keeps, of a change of its size

_known_text = lru_cache(maxsize=512)(decode_huffman)  # names, dates, signatures that hold for a second


class Run:
    """The headers that a block begins with, as long as each is one byte: a place in the table.

    Clients repeat most of their headers in each request, and with the same table the same bytes mean the same.

    Attributes:
        headers: The headers.
        size: Bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts them.
        read: What `requests` makes of them, once it has.
    """

    __slots__ = ("headers", "read", "size")

    def __init__(self, headers: Headers, size: int) -> None:
        self.headers = headers
        self.size = size
        self.read: tuple[dict[str, str], dict[str, str]] | None = None


class HeaderBlocks:
    """Decodes the blocks of one connection, all of them, in order; `most` bounds the headers of each in bytes."""

    __slots__ = ("_changed", "_most", "_runs", "_table")

    def __init__(self, most: int) -> None:
        self._most = most
        self._table = HeaderTable()
        self._changed = False  # whether the last block has changed the table
        self._runs: dict[bytes, Run] = {}  # by their bytes; of the table as it is

    def decode(self, block: bytes) -> tuple[Run | None, Headers, int]:
        """The run that a block begins with, if it is a known one, the headers behind it, and the size of all.

        Raises:
            Violation: it is no such block, or is too large: the table is of no use any more.
        """
        try:
            run = self._run(block)
            if run is None:
                return (None, *self._decode(block, 0, 0))
            return (run, *self._decode(block, len(run.headers), run.size))
        except (HPACKError, IndexError) as error:
            raise Http2Violation(COMPRESSION_ERROR, f"a block of headers cannot be decoded: {error}") from error

    def _run(self, block: bytes) -> Run | None:
        if self._changed:  # as clients do that have something new in the table for each request
            self._changed = False
            self._runs.clear()
            return None
        match = _RUN.match(block)
        if match is None:
            return None
        found = match[0]
        run = self._runs.get(found)
        if run is None and len(self._runs) < _MOST_RUNS:
            run = Run(*self._decode(found, 0, 0))
            if run.size <= _LONGEST_RUN:
                self._runs[found] = run
        return run

    def _decode(self, block: bytes, at: int, size: int) -> tuple[Headers, int]:
        headers: Headers = []
        begun = at > 0
        most, end = self._most, len(block)
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
                at = self._resize(block, at, begun=begun)
                continue
            else:
                header, at = self._literal(block, at, first)
            begun = True
            headers.append(header)
            size += len(header[0]) + len(header[1]) + ENTRY_OVERHEAD
            if size > most:
                raise Http2Violation(ENHANCE_YOUR_CALM, f"headers of more than {most} bytes")
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
            self._changed = True
        return (name, value), at

    def _resize(self, block: bytes, at: int, *, begun: bool) -> int:
        size, at = _integer(block, at, 5)
        if begun or size > TABLE_SIZE:
            raise Http2Violation(COMPRESSION_ERROR, "a table of headers changes its size where, or as, it may not")
        self._table.maxsize = size
        self._changed = True
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
        raise Http2Violation(COMPRESSION_ERROR, "a block of headers ends within a text")
    text = block[at:end]
    if first & 0x80:
        text = _known_text(text) if length <= _SHORT else decode_huffman(text)
    return text, end


def encode(headers: Sequence[tuple[str, str]]) -> bytes:
    """A block that means the same whatever came before it, and leaves nothing in its reader's table."""
    # An encoder of its own, and no header that is to be kept: what it makes refers to the static table only.
    return Encoder().encode([(*header, True) for header in headers], huffman=False)
