"""One property out of a record's stored text, for filters: its value as bytes, or None without one.

The answer is that of decoding all of the text (wire.properties): of equal names the last counts, an empty value none.
No more of the text is looked at than what stands behind that value, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Callable

from rocketwire.wire.properties import ITEM_SEP, NAME_SEP


def property_reader(name: str) -> Callable[[bytes], bytes | None]:
    """A function that gives the value of the property in a text."""
    separator = ITEM_SEP.encode()
    first = (name + NAME_SEP).encode()
    later = separator + first
    length = len(first)

    def read(text: bytes) -> bytes | None:
        at = text.rfind(later)
        if at >= 0:
            start = at + length + 1
        elif text.startswith(first):
            start = length
        else:
            return None
        stop = text.find(separator, start)
        value = text[start:] if stop < 0 else text[start:stop]
        return value or _before(text, at)

    def _before(text: bytes, end: int) -> bytes | None:
        """The last one of the name, at `end`, has no value: one before it may have."""
        while end >= 0:
            end = text.rfind(later, 0, end)
            start = end + length + 1 if end >= 0 else length
            value = text[start : text.index(separator, start)] if end >= 0 or text.startswith(first) else b""
            if value:
                return value
        return None

    return read
