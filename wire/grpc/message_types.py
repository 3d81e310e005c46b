"""The type that a message of a 5.x client has by its properties."""

from collections.abc import Mapping
from typing import Final

from rocketwire.wire.facts import properties as names

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
    if names.PRIORITY in properties:
        return "PRIORITY"
    return "LITE" if names.LITE_TOPIC in properties else NORMAL
