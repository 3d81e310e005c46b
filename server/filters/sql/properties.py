"""Reads one property from a record's stored property text, for filters: its value as bytes, or None.

The result is the same as decoding the whole text (wire.properties): of equal names the last counts, an empty value
counts as none. It takes time linear in the text's length, whatever the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire.wire.properties import ITEM_SEP, NAME_SEP

SEPARATOR: Final = ITEM_SEP.encode()
"""Prepended to the text, so that the first property is like the others."""


def property_reader(name: str) -> Callable[[bytes], bytes | None]:
    """A function that returns the value of the property from a text that begins with a separator."""
    start = SEPARATOR + (name + NAME_SEP).encode()
    without_value = start + SEPARATOR

    def read(text: bytes) -> bytes | None:
        _, found, rest = text.rpartition(start)
        if not found:
            return None
        return rest.partition(SEPARATOR)[0] or _before(text)

    def _before(text: bytes) -> bytes | None:
        """Handle a last occurrence without a value: an earlier one may have a value."""
        text += SEPARATOR
        while without_value in text:  # of adjacent occurrences each pass removes every other one
            text = text.replace(without_value, SEPARATOR)
        return read(text)

    return read
