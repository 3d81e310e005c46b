"""Changing single properties in stored property text, without decoding all of them.

The result decodes to the same as the change applied to the dictionary of `decode_properties`: the last of equal names
wins, an item without a name or value does not count, an existing name keeps its place and a new one comes last. Items
that are not named stay unchanged, byte by byte. A text in which a name concerned occurs twice, or without a value, is
split completely, as by `decode_property_bytes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rocketwire.wire.errors import PropertiesInvalid
from rocketwire.wire.facts.properties import ITEM_SEP, NAME_SEP
from rocketwire.wire.properties import decode_property_bytes

_NAME_SEP: Final = NAME_SEP.encode()
_ITEM_SEP: Final = ITEM_SEP.encode()
_ITEM_SEP_BYTE: Final = _ITEM_SEP[0]


def set_properties(text: bytes, items: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The text with some properties set: an existing name keeps its place, others are added at the end in order.

    Args:
        text: Properties as they are stored.
        items: Names, each once and without a separator in it, and values; an empty value removes the property.

    Raises:
        PropertiesInvalid: a value contains a separator.
    """
    changed = text
    added = b""
    for name, value in items:
        if _ITEM_SEP in value:
            raise PropertiesInvalid("properties must not have the separator 0x02 in a value")
        opening = _ITEM_SEP + name + _NAME_SEP
        if opening in changed or changed.startswith(opening[1:]):
            replaced = _replaced(changed, opening, value)
            if replaced is None:
                return _all_with(text, items)
            changed = replaced
        else:
            added += opening + value
    if not changed or changed[-1] == _ITEM_SEP_BYTE:
        return changed + added[1:]
    return changed + added


def _replaced(text: bytes, opening: bytes, value: bytes) -> bytes | None:
    """The text with another value for an existing name; None if the name does not occur exactly once with a value."""
    at = text.find(opening)
    start = at + len(opening)
    if text.startswith(opening[1:]):
        again, start = at, len(opening) - 1
    else:
        again = text.find(opening, start)
    end = text.find(_ITEM_SEP, start)
    if end < 0:
        end = len(text)
    return text[:start] + value + text[end:] if again < 0 and start < end else None


def _all_with(text: bytes, items: Sequence[tuple[bytes, bytes]]) -> bytes:
    changed = {**decode_property_bytes(text), **dict(items)}
    return set_properties(b"", list(changed.items()))


def remove_properties(text: bytes, names: Iterable[bytes]) -> bytes:
    """The text without the properties of some names, which have no separator in them."""
    for name in names:
        opening = _ITEM_SEP + name + _NAME_SEP
        while (at := text.find(opening)) >= 0:
            end = text.find(_ITEM_SEP, at + len(opening))
            text = text[:at] if end < 0 else text[:at] + text[end:]
        if text.startswith(opening[1:]):
            _, _, text = text.partition(_ITEM_SEP)
    return text
