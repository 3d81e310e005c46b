"""Which key identifies a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from rocketwire.wire.facts.properties import ORIGIN_MESSAGE_ID, UNIQ_KEY


class DeliveredMessage(Protocol):
    """A message as a consumer receives it."""

    @property
    def topic(self) -> str:
        """The topic it was sent to."""

    @property
    def message_id(self) -> str:
        """Its id: the unique key that its producer gave it, or the place in the log where the broker stored it."""

    @property
    def properties(self) -> Mapping[str, str]:
        """Its properties."""


def unique_key(message: DeliveredMessage) -> str:
    """The id that a message keeps over all deliveries.

    That is the unique key of its producer, which a producer's own retry keeps too. A message without one is known by
    the place where it was stored first: a retried message is stored again, and carries that place as a property.
    """
    properties = message.properties
    return properties.get(UNIQ_KEY) or properties.get(ORIGIN_MESSAGE_ID) or message.message_id
