"""Messages as tests give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from rocketwire.remoting.errors import MessageInvalid
from rocketwire.remoting.messages import Message
from rocketwire.wire.facts.properties import TIMER_DELAY_MS


def message(
    topic: str,
    body: bytes | str,
    *,
    tags: str | None,
    keys: str | Sequence[str],
    properties: Mapping[str, str] | None,
    delay: timedelta | float | None,
    delay_level: int,
    order_key: str | None,
) -> Message:
    """The message to send; a text is written as UTF-8, and one key may be given without a list.

    Raises:
        MessageInvalid: the delay is negative, or given twice.
    """
    told = dict(properties or {})
    if delay is not None:
        seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
        if seconds < 0 or delay_level:
            raise MessageInvalid("a delay is 0 s or longer, and there is no delay level beside it")
        if seconds:
            told[TIMER_DELAY_MS] = str(round(seconds * 1000))
    return Message(
        topic,
        body.encode() if isinstance(body, str) else body,
        tags=tags,
        keys=keys,
        properties=told,
        delay_level=delay_level,
        order_key=order_key,
    )
