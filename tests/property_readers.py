"""All that takes single properties out of a message's text, to be held against `wire.properties.decode_properties`.

A name may stand twice there, with or without a value: then every reader must give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rocketwire.wire import stored_properties
from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.properties import (
    decode_properties,
    decode_property_bytes,
    decode_stored_properties,
    property_value,
    split_properties,
)

NAMES: Final = ("TAGS", "KEYS", "UNIQ_KEY")
"""What every reader knows."""
CLUSTER: Final = "CLUSTER\x01C"
_MOST: Final = 32_767  # bytes of properties that a message of a batch can have

Reader = Callable[[bytes], Mapping[str, str | None]]
"""Gives some of a text's properties by their names, None for one that is not there."""


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _items(text: bytes) -> dict[str, str | None]:
    found = decode_property_bytes(text)
    assert {_text(name): _text(value) for name, value in found.items()} == decode_stored_properties(text)
    return {name: _text(found.get(name.encode())) for name in NAMES}


def _values(text: bytes) -> dict[str, str | None]:
    return {name: _text(property_value(text, name.encode())) for name in NAMES}


def _parted(text: bytes) -> dict[str, str | None]:
    found = split_properties(text)
    return {"UNIQ_KEY": found.unique_key, "KEYS": found.keys, "TAGS": _text(property_value(found.shared_text, b"TAGS"))}


def _of_sent(found: stored_properties.StoredProperties) -> dict[str, str | None]:
    steering = decode_properties(found.steering)
    return {
        **{name: steering.get(name) for name in stored_properties.STEERING_NAMES},
        "WAIT": found.wait,
        "UNIQ_KEY": found.unique_key,
        "KEYS": found.keys,
        "TAGS": found.tags,
    }


def _single(text: bytes) -> dict[str, str | None]:
    return _of_sent(stored_properties.stored_properties(text.decode(errors="replace"), CLUSTER))


def _of_batch(text: bytes) -> dict[str, str | None]:
    return _of_sent(stored_properties.batch_properties(text.decode(errors="replace"), CLUSTER))


def _in_batch(text: bytes) -> dict[str, str | None]:
    if len(text) > _MOST:
        return {}
    (found,) = stored_properties.batch_messages(encode_batch([BatchItem(0, b"", text)]))
    return {"UNIQ_KEY": found.unique_key, "KEYS": found.keys, "TAGS": found.tags}


READERS: Final[Mapping[str, Reader]] = {
    "wire.properties.items_of": _items,
    "wire.properties.value_of": _values,
    "wire.properties.parted": _parted,
    "wire.stored_properties of a message": _single,
    "wire.stored_properties of a batch": _of_batch,
    "wire.stored_properties of a message in a batch": _in_batch,
}


def check(text: bytes, readers: Mapping[str, Reader] = READERS) -> None:
    """All of them see the same properties."""
    expected = decode_properties(text.decode(errors="replace"))
    for reader, read in readers.items():
        for name, value in read(text).items():
            assert value == expected.get(name), (reader, name, text)
