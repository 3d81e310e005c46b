"""One property out of a record's stored text, for filters: its value as bytes, or None without one.

The answer is that of decoding all of the text (wire.properties): of equal names the last counts, an empty value none.
It takes time in proportion to the text's length, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire.wire.properties import ITEM_SEP, NAME_SEP

SEPARATOR: Final = ITEM_SEP.encode()
"""What a reader wants before the text, so that the first property is as the others."""


def property_reader(name: str) -> Callable[[bytes], bytes | None]:
    """A function that gives the value of the property in a text behind a separator."""
    start = SEPARATOR + (name + NAME_SEP).encode()
    without_value = start + SEPARATOR

    def read(text: bytes) -> bytes | None:
        _, found, rest = text.rpartition(start)
        if not found:
            return None
        return rest.partition(SEPARATOR)[0] or _before(text)

    def _before(text: bytes) -> bytes | None:
        """The last one of the name has no value: one before it may have, when those without are gone."""
        text += SEPARATOR
        while without_value in text:  # of those side by side every other one goes
            text = text.replace(without_value, SEPARATOR)
        return read(text)

    return read
