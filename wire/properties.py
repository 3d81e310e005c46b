"""Reading and writing the property text of messages; `wire.facts.properties` has the names.

The text is ``name 0x01 value 0x02 name 0x01 value``. 4.9 writes no separator after the last property, 5.x does. An item
without a name or a value counts for nothing, and the last of equal names wins: `decode_properties` is the
specification, and every other reader, in Python, in the kernel and in numpy, is proven equal to it
(tests/test_property_readers.py).

Text in records is read as bytes. Bytes that are not UTF-8 do no harm: none of them can be a part of a separator, or of
a wanted name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import AnyStr, Final, NamedTuple

from rocketwire.wire.errors import PropertiesInvalid
from rocketwire.wire.facts.properties import ITEM_SEP, KEY_SEP, KEYS, NAME_SEP, UNIQ_KEY

_NAME_SEP: Final = NAME_SEP.encode()
_ITEM_SEP: Final = ITEM_SEP.encode()
_ITEM_SEP_BYTE: Final = _ITEM_SEP[0]
_READERS_KEPT: Final = 64
_UNIQ_KEY: Final = UNIQ_KEY.encode()
_UNIQ_KEY_ITEM: Final = _UNIQ_KEY + _NAME_SEP
_UNIQ_KEY_LENGTH: Final = len(_UNIQ_KEY_ITEM)
_KEYS: Final = KEYS.encode()
_KEYS_ITEM: Final = _KEYS + _NAME_SEP


def decode_properties(text: str) -> dict[str, str]:
    """Read properties as Java's MessageDecoder does.

    An item without a name or a value is skipped, so empty values are lost. The last of equal names wins.
    """
    return _items(text, ITEM_SEP, NAME_SEP)


def split_keys(keys: str | None) -> list[str]:
    """The words of a KEYS property; none if there is no such property."""
    return [] if keys is None else [word for word in keys.split(KEY_SEP) if word]


def decode_stored_properties(text: bytes | memoryview) -> dict[str, str]:
    """All properties in the text of a record, with U+FFFD in place of what is not UTF-8."""
    return decode_properties(str(text, "utf-8", "replace"))


def encode_properties(properties: Mapping[str, str]) -> str:
    """Write properties in the order given, without a separator at the end, as 4.9 does.

    Raises:
        PropertiesInvalid: a name or value has a separator in it and would be read back as something else.
    """
    text = ITEM_SEP.join([f"{name}{NAME_SEP}{value}" for name, value in properties.items()])
    if text.count(ITEM_SEP) != max(0, len(properties) - 1) or NAME_SEP in "".join(properties):
        raise PropertiesInvalid("properties must not have the separators 0x01 or 0x02 in a name, nor 0x02 in a value")
    return text


def decode_property_bytes(text: bytes) -> dict[bytes, bytes]:
    """All properties, as `decode_properties` reads them."""
    return _items(text, _ITEM_SEP, _NAME_SEP)


def _items(text: AnyStr, item_sep: AnyStr, name_sep: AnyStr) -> dict[AnyStr, AnyStr]:
    result: dict[AnyStr, AnyStr] = {}
    for item in text.split(item_sep):
        name, _, value = item.partition(name_sep)
        if name and value:
            result[name] = value
    return result


def property_value(text: bytes, name: bytes) -> bytes | None:
    """A property's value, None without one.

    Args:
        text: Properties as they are stored.
        name: Which one, of a few that the program names; it has no separator in it.
    """
    return _kept_reader(name)(text)


def property_reader(name: bytes) -> Callable[[bytes], bytes | None]:
    """A function that reads one property from text, as `property_value` does, for use on many messages.

    It takes time linear in the text's length, whatever the text: consumers choose the names that filters read, and
    producers the texts.
    """
    opening = name + _NAME_SEP
    behind_another = _ITEM_SEP + opening
    without_value = behind_another + _ITEM_SEP
    length = len(opening)

    def read(text: bytes) -> bytes | None:
        _, found, rest = text.rpartition(behind_another)  # this and `partition` are faster than `rfind` and `find`
        if not found:
            if not text.startswith(opening):
                return None
            rest = text[length:]
        return rest.partition(_ITEM_SEP)[0] or before(text)

    def before(text: bytes) -> bytes | None:
        """Handle a last occurrence without a value: an earlier one may have a value."""
        text = _ITEM_SEP + text + _ITEM_SEP
        while without_value in text:  # of adjacent occurrences each pass removes every other one
            text = text.replace(without_value, _ITEM_SEP)
        return read(text)

    return read


_kept_reader = lru_cache(maxsize=_READERS_KEPT)(property_reader)


class SplitProperties(NamedTuple):
    """The properties of single messages, UNIQ_KEY and KEYS, and the text of all that similar messages share.

    What follows from the shared text is computed once and cached. Doubled items are in it, too.
    """

    unique_key: str | None
    keys: str | None
    shared_text: bytes


_new = tuple.__new__


def split_properties(text: bytes) -> SplitProperties:
    """Split the stored property text of a message."""
    unique_key = keys = None
    at = text.rfind(_UNIQ_KEY_ITEM)
    if at >= 0:
        start = at + _UNIQ_KEY_LENGTH
        end = text.find(_ITEM_SEP, start)
        if at > 0 and start < end and text[at - 1] == _ITEM_SEP_BYTE:
            unique_key = str(text[start:end], "utf-8", "replace")
            text = text[: at - 1] + text[end:]
        else:
            unique_key, text = _taken(text, _UNIQ_KEY, at, start)
    at = text.rfind(_KEYS_ITEM)
    if at >= 0:
        keys, text = _taken(text, _KEYS, at, at + len(_KEYS_ITEM))
    return _new(SplitProperties, (unique_key, keys, text))


def _taken(text: bytes, name: bytes, at: int, start: int) -> tuple[str | None, bytes]:
    """The value that seems to be at a position, and the text without its item."""
    end = text.find(_ITEM_SEP, start)
    if end < 0:
        end = len(text)
    if start < end and (at == 0 or text[at - 1] == _ITEM_SEP_BYTE):
        others = text[end + 1 :] if at == 0 else text[: at - 1] + text[end:]
        return str(text[start:end], "utf-8", "replace"), others
    value = property_value(text, name)  # the match is a part of another item, or empty
    return None if value is None else str(value, "utf-8", "replace"), text
