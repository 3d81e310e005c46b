"""Delivery times for brokers of 4.9, which know delay levels only.

A time that a level fits becomes that level, and one that is over none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from rocketwire.server.config.java_properties import JavaPropertiesInvalid, parse_java_properties
from rocketwire.server.delay.keys import DelayKeys
from rocketwire.wire.errors import PropertiesInvalid as MessagePropertiesInvalid
from rocketwire.wire.facts.properties import DELAY, TIMER_DELIVER_MS
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.properties import decode_properties, encode_properties

FITS_MS: Final = 1_000
"""How far a level may be from the requested time: the message is delivered so much earlier or later."""
_KEY: Final = "messageDelayLevel"


def levels_of(configuration: bytes) -> tuple[int, ...]:
    """The delays of a broker's levels 1, 2 and so on in ms, by its configuration; none if they are not in it."""
    try:
        text = parse_java_properties(configuration.decode("utf-8", "replace")).get(_KEY, "")
        return DelayKeys(message_delay_level=text).levels if text else ()
    except (JavaPropertiesInvalid, ValueError, LookupError):
        return ()


def with_level(fields: SendMessageRequestHeader, levels: Sequence[int], now: int) -> SendMessageRequestHeader | None:
    """A send with a level instead of its delivery time, or none if that is over; None: no level fits.

    Args:
        fields: The send's fields; a batch has no level.
        levels: The delays of the broker's levels in ms.
        now: The time, in ms since 1970.
    """
    try:
        properties = decode_properties(fields.properties or "")
        delay = int(properties.pop(TIMER_DELIVER_MS)) - now
        if fields.batch:
            return None
        if delay <= 0:
            return replace(fields, properties=encode_properties(properties))
        if not levels:
            return None
        level = min(range(len(levels)), key=lambda each: abs(levels[each] - delay))
        if abs(levels[level] - delay) > FITS_MS:
            return None
        return replace(fields, properties=encode_properties({**properties, DELAY: str(level + 1)}))
    except (KeyError, ValueError, MessagePropertiesInvalid):
        return None
