"""When a message is delivered by its properties: after a delay, or when its transaction is decided.

`timer.sends` reads times of delivery.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from rocketwire.server.core.errors import MessageIllegal
from rocketwire.server.delay import delay_level
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.properties import decode_properties

_KEPT: Final = 64


class DeliveryProperties(NamedTuple):
    """The delivery that a message's properties demand.

    Attributes:
        level: A delay level; 0 for none.
        other_level: Whether the text has another one, which does not exist.
        transactional: Whether it is a half message.
        wait: WAIT as it stands behind other properties: Apache's broker stores it with messages that are to wait.
    """

    level: int
    other_level: bool
    transactional: bool
    wait: bytes


# A client has a few such texts, or just one.
@lru_cache(maxsize=_KEPT)
def delivery_properties(items: str, wait: str | None, levels: int) -> DeliveryProperties:
    """Read the properties of a delivery.

    Args:
        items: Those of a message, as `stored_properties` gives them, without those of times.
        wait: Its WAIT, as this gives it.
        levels: How many delay levels there are: one above is the last.

    Raises:
        MessageIllegal: the level is no number, or the message says that its record holds a batch.
    """
    properties = decode_properties(items)
    check_one_message(properties)
    level = delay_level(properties, levels)
    return DeliveryProperties(
        level,
        properties.get(property_names.DELAY) != str(level),
        is_transactional(properties),
        wait_item(wait),
    )


@lru_cache(maxsize=_KEPT)
def wait_item(wait: str | None) -> bytes:
    """WAIT as it stands behind other properties, with the separator before it."""
    return b"" if wait is None else f"\x02{property_names.WAIT}\x01{wait}".encode()


def check_one_message(properties: Mapping[str, str]) -> None:
    """Refuse INNER_NUM, as Apache 5.5.0 does: its broker takes the record for a batch when it opens the store.

    Raises:
        MessageIllegal: it is among the properties.
    """
    if property_names.INNER_NUM in properties:
        raise MessageIllegal(f"property {property_names.INNER_NUM}: the broker does not store batches as one record")


def is_transactional(properties: Mapping[str, str]) -> bool:
    """Whether they are a half message's."""
    return properties.get(property_names.TRANSACTION_PREPARED, "").lower() == "true"
