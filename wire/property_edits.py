"""Properties read and changed in their text, as it is stored: a few of many, without reading all of them.

What comes out is what `decode_properties` would read after the same change of its dictionary: the last of equal names
wins, an item without a name or value does not count, a name that is there already keeps its place and a new one comes
last. Items that are not named stay as they are, byte by byte. Text that is not simple in the names concerned (one of
them twice, or without a value) is taken apart whole, as are `items_of`.

Bytes that are no UTF-8 do no harm: none of them can be a part of a separator, or of a name asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

from rocketwire.wire import properties
from rocketwire.wire.errors import PropertiesInvalid

_NAME_SEP: Final = properties.NAME_SEP.encode()
_ITEM_SEP: Final = properties.ITEM_SEP.encode()
_ITEM_SEP_BYTE: Final = _ITEM_SEP[0]
_READERS_KEPT: Final = 64


def items_of(text: bytes) -> dict[bytes, bytes]:
    """All properties, as `decode_properties` reads them."""
    result: dict[bytes, bytes] = {}
    for item in text.split(_ITEM_SEP):
        name, _, value = item.partition(_NAME_SEP)
        if name and value:
            result[name] = value
    return result


def value_of(text: bytes, name: bytes) -> bytes | None:
    """A property's value, None without one.

    Args:
        text: Properties as they are stored.
        name: Which one; it has no separator in it.
    """
    return reader_of(name)(text)


@lru_cache(maxsize=_READERS_KEPT)
def reader_of(name: bytes) -> Callable[[bytes], bytes | None]:
    """What gives a property's value out of a text, as `value_of` does, to read one of many messages."""
    opening = name + _NAME_SEP
    length = len(opening)

    def read(text: bytes) -> bytes | None:
        at = text.rfind(opening)
        if at < 0:
            return None
        if at and text[at - 1] != _ITEM_SEP_BYTE:  # a longer name ends like this one, or a value
            return items_of(text).get(name)
        end = text.find(_ITEM_SEP, at)
        value = text[at + length :] if end < 0 else text[at + length : end]
        return value or items_of(text).get(name)

    return read


def with_items(text: bytes, items: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The text with some properties set: in the place of those of that name, or at the end in the order given.

    Args:
        text: Properties as they are stored.
        items: Names, each once and without a separator in it, and values; an empty value takes the property away.

    Raises:
        PropertiesInvalid: a separator stands in a value.
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
    """The text with another value for a name that stands in it; None if it does not simply have one value."""
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
    changed = {**items_of(text), **dict(items)}
    return with_items(b"", list(changed.items()))


def without(text: bytes, names: Iterable[bytes]) -> bytes:
    """The text without the properties of some names, which have no separator in them."""
    for name in names:
        opening = _ITEM_SEP + name + _NAME_SEP
        while (at := text.find(opening)) >= 0:
            end = text.find(_ITEM_SEP, at + len(opening))
            text = text[:at] if end < 0 else text[:at] + text[end:]
        if text.startswith(opening[1:]):
            _, _, text = text.partition(_ITEM_SEP)
    return text
