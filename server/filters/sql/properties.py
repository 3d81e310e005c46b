"""One property out of a record's stored text, for filters: its value as bytes, or None without one.

The answer is that of decoding all of the text (wire.properties): of equal names the last counts, an empty value none.
"""

from __future__ import annotations

from collections.abc import Callable

from rocketwire.wire.properties import ITEM_SEP, NAME_SEP, decode_properties


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
        return value or _without_value(text)

    def _without_value(text: bytes) -> bytes | None:
        """The last one of the name has no value: one before it may have."""
        value = decode_properties(text.decode("utf-8", "replace")).get(name)
        return None if value is None else value.encode("utf-8", "replace")

    return read
