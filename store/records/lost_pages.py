"""Pages that the disk lost: after a crash, a page that never got there is all zero while its neighbours are written.

A body's CRC tells, but properties have none. So recovery does not believe properties of which the part that stands on
one page is all zero, nor last ones that end with a zero byte. Sends with zero bytes in properties are refused here, but
Apache's brokers take them: when a message of theirs is stored once more, its properties are fenced.
"""

from __future__ import annotations

from typing import Final

from rocketwire.wire.properties import ITEM_SEP

PAGE: Final = 4096
_ZEROS: Final = bytes(PAGE)
_ITEM_SEP: Final = ITEM_SEP.encode()


def has_lost_page(text: bytes, at: int) -> bool:
    """Whether a part of the text at file position `at` that stands on one page is nothing but zeros."""
    start = 0
    while start < len(text):
        stop = min(len(text), start + PAGE - (at + start) % PAGE)
        if text.count(0, start, stop) == stop - start:
            return True
        start = stop
    return False


def fenced(properties: bytes) -> bytes | None:
    """The same properties as text that is believed wherever it stands; None when there is none.

    No part of it is all zero when it does not begin or end so: then there is an empty item more, which readers pass
    over. Only with a page of zeros within there is nothing to be done.
    """
    if 0 not in properties:
        return properties
    if _ZEROS in properties:
        return None
    before = b"" if properties[0] else _ITEM_SEP
    after = b"" if properties[-1] else _ITEM_SEP
    return before + properties + after
