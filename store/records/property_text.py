"""Single properties out of a record's text, without taking all of it apart: what dispatch needs of millions of records.

A text is `name 0x01 value 0x02 name 0x01 value`. A name is nearly always found once, right behind a separator; then its
value is what follows. Otherwise the text is decoded as any other (wire.properties), so that the answer is the same.
"""

from __future__ import annotations

from typing import Final

from rocketwire.wire import properties as names
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import ITEM_SEP, NAME_SEP, decode_properties

_ITEM_SEP: Final = ITEM_SEP.encode()
_MOST_TAGS: Final = 10_000


def key_of(name: str) -> bytes:
    """What `value_of` looks for, to be made once for each name."""
    return (name + NAME_SEP).encode()


_TAGS: Final = key_of(names.TAGS)
_DELAY: Final = key_of(names.DELAY)


def value_of(text: bytes, key: bytes) -> bytes:
    """The value of a property, empty when there is none."""
    at = text.find(key)
    if at < 0:
        return b""
    if (at and text[at - 1] != _ITEM_SEP[0]) or text.find(key, at + 1) >= 0:
        name = key[:-1].decode()
        return decode_properties(text.decode("utf-8", "replace")).get(name, "").encode("utf-8", "replace")
    start = at + len(key)
    stop = text.find(_ITEM_SEP, start)
    return text[start:] if stop < 0 else text[start:stop]


class TagCodes(dict[bytes, int]):
    """Java's hash of each tag; knows those asked for lately."""

    def __missing__(self, tag: bytes) -> int:
        if len(self) >= _MOST_TAGS:
            self.clear()
        code = self[tag] = string_hash(tag.decode("utf-8", "replace")) if tag else 0
        return code

    def of(self, texts: list[bytes]) -> list[int]:
        """The code of the tag in each record's properties, 0 without one."""
        codes: list[int] = []
        add = codes.append
        for text in texts:
            # What `value_of` does, for the place where the tag nearly always is: a call for each would double the time.
            at = text.find(_TAGS)
            if at > 0 and text[at - 1] == _ITEM_SEP[0] and text.rfind(_TAGS) == at:
                start = at + len(_TAGS)
                stop = text.find(_ITEM_SEP, start)
                add(self[text[start:] if stop < 0 else text[start:stop]])
            else:
                add(self[value_of(text, _TAGS)])
        return codes


def delivery_time(text: bytes, store_timestamp: int, delay_levels: tuple[int, ...]) -> int | None:
    """When a message of the schedule topic is due (ms), which its queue entry tells in place of tags.

    None when it has no level of delay.
    """
    level = value_of(text, _DELAY)
    if not level.isdigit() or not int(level):
        return None
    return store_timestamp + delay_levels[min(int(level), len(delay_levels)) - 1]
