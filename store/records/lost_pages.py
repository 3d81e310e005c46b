"""Torn writes in properties: after a crash, a page that was not flushed is all zero while its neighbours are written.

A body has a CRC, but properties have none. So recovery rejects properties of which the part on one page is all zero,
and the last record's if they end with a zero byte. Sends with zero bytes in properties are refused here, but Apache's
brokers accept them: when such a message is stored once more, separators are put around its properties
(`guard_against_lost_pages`).
"""

from __future__ import annotations

from typing import Final

from rocketwire.wire.facts.properties import ITEM_SEP

#: Bytes of a page of the page cache: after a crash each exists as a whole or not at all.
PAGE: Final = 4096
_ZEROS: Final = bytes(PAGE)
_ITEM_SEP: Final = ITEM_SEP.encode()


def has_lost_page(text: bytes, at: int) -> bool:
    """Whether the part on one page of the text at file position `at` is nothing but zeros."""
    start = 0
    while start < len(text):
        stop = min(len(text), start + PAGE - (at + start) % PAGE)
        if text.count(0, start, stop) == stop - start:
            return True
        start = stop
    return False


def guard_against_lost_pages(properties: bytes) -> bytes | None:
    """The same properties as text that recovery accepts at any position; None if there is no such text.

    If it begins or ends with zeros, an empty item is added there, which readers skip; then no part on one page is all
    zero. There is no such text if it contains a whole page of zeros.
    """
    if 0 not in properties:
        return properties
    if _ZEROS in properties:
        return None
    before = b"" if properties[0] else _ITEM_SEP
    after = b"" if properties[-1] else _ITEM_SEP
    return before + properties + after
