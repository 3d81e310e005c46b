"""Splitting properties into those of each single message, UNIQ_KEY and KEYS, and those that similar messages share.

What follows from the shared ones is computed once and cached.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rocketwire.wire import properties as names
from rocketwire.wire.property_edits import value_of

_NAME_SEP: Final = names.NAME_SEP.encode()
_ITEM_SEP: Final = names.ITEM_SEP.encode()
_ITEM_SEP_BYTE: Final = _ITEM_SEP[0]
_UNIQ_KEY: Final = names.UNIQ_KEY.encode()
_UNIQ_KEY_ITEM: Final = _UNIQ_KEY + _NAME_SEP
_UNIQ_KEY_LENGTH: Final = len(_UNIQ_KEY_ITEM)
_KEYS: Final = names.KEYS.encode()
_KEYS_ITEM: Final = _KEYS + _NAME_SEP


class Parted(NamedTuple):
    """Both values, and the text of the other properties (and of double ones) as they are stored."""

    unique_key: str | None
    keys: str | None
    others: bytes


_new = tuple.__new__


def parted(text: bytes) -> Parted:
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
    return _new(Parted, (unique_key, keys, text))


def _taken(text: bytes, name: bytes, at: int, start: int) -> tuple[str | None, bytes]:
    """The value that seems to be at a position, and the text without its item."""
    end = text.find(_ITEM_SEP, start)
    if end < 0:
        end = len(text)
    if start < end and (at == 0 or text[at - 1] == _ITEM_SEP_BYTE):
        others = text[end + 1 :] if at == 0 else text[: at - 1] + text[end:]
        return str(text[start:end], "utf-8", "replace"), others
    value = value_of(text, name)  # the match is a part of another item, or empty
    return None if value is None else str(value, "utf-8", "replace"), text
