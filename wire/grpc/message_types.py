"""The type of a message, as its properties tell it."""

from collections.abc import Mapping
from typing import Final

from rocketwire.wire.facts import properties as names
from rocketwire.wire.grpc.property_names import LITE_TOPIC, PRIORITY

NORMAL: Final = "NORMAL"
FIFO: Final = "FIFO"
_DELAYING: Final = frozenset(
    {names.DELAY, names.TIMER_DELIVER_MS, names.TIMER_DELAY_SEC, names.TIMER_DELAY_MS, names.START_DELIVER_TIME}
)


def type_of(properties: Mapping[str, str]) -> str:
    """The name of a message's type, as in `definition.proto`: the first that a property gives it."""
    if properties.get(names.TRANSACTION_PREPARED, "").lower() == "true":
        return "TRANSACTION"
    if not _DELAYING.isdisjoint(properties):
        return "DELAY"
    if names.SHARDING_KEY in properties:
        return FIFO
    if PRIORITY in properties:
        return "PRIORITY"
    return "LITE" if LITE_TOPIC in properties else NORMAL
