"""A message that was found: its record with its decoded properties."""

from __future__ import annotations

from typing import NamedTuple

from rocketwire.wire.facts import properties as names
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.message import MessageRecord
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.properties import decode_stored_properties, split_keys


class SelectedMessage(NamedTuple):
    """A message, its properties, and the size in bytes of its record."""

    message: MessageRecord
    properties: dict[str, str]
    size: int

    @property
    def offset_message_id(self) -> str:
        """The id that contains the record's place."""
        return offset_message_id(encode_host(*self.message.store_host), self.message.physical_offset)

    @property
    def message_id(self) -> str:
        """The id a consumer sees: the unique key that the producer gave, else the offset message id."""
        return self.properties.get(names.UNIQ_KEY) or self.offset_message_id

    @property
    def tags(self) -> str | None:
        """Its tag: one, though it is called tags."""
        return self.properties.get(names.TAGS)

    @property
    def keys(self) -> list[str]:
        """The words of its keys."""
        return split_keys(self.properties.get(names.KEYS))


def with_properties(message: MessageRecord, size: int) -> SelectedMessage:
    """A message with its properties read."""
    return SelectedMessage(message, decode_stored_properties(message.properties), size)
