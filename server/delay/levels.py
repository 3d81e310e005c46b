"""Delayed messages as stored in the schedule topic.

A message with a delay level n is stored in queue n - 1 of SCHEDULE_TOPIC_XXXX, with its topic and queue among its
properties; the store writes the time of delivery into the queue's entry. Everything is written as Apache 4.9.7 does it,
except that properties keep the order in which they came.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Final

from rocketwire.server.core.errors import MessageIllegal
from rocketwire.server.messages.real_queue import with_real_queue
from rocketwire.store.append.drafts import Draft
from rocketwire.wire import names
from rocketwire.wire.facts import properties as property_names

log = logging.getLogger(__name__)

_SCHEDULE_TOPIC: Final = names.SCHEDULE_TOPIC
_HOUR_MS: Final = 3_600_000
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


def delay_level(properties: Mapping[str, str], levels: int) -> int:
    """The delay level of a message, at most the last of `levels`; 0 without delay.

    Raises:
        MessageIllegal: the property is not a number.
    """
    text = properties.get(property_names.DELAY)
    if text is None:
        return 0
    if not _NUMBER.fullmatch(text):
        raise MessageIllegal(f"property {property_names.DELAY}: {text[:100]!r} is no delay level")
    return max(0, min(int(text), levels))


def scheduled_draft(draft: Draft, level: int) -> Draft:
    """The draft to be stored in the schedule topic; the given one is changed.

    Args:
        draft: The message to be delivered, with the level among its properties.
        level: A level that exists, from 1.

    Raises:
        PropertiesInvalid: the topic's name contains a separator.
    """
    draft.properties = with_real_queue(draft.properties, draft.topic, draft.queue_id)
    draft.topic = _SCHEDULE_TOPIC
    draft.queue_id = level - 1
    return draft


def queue_of_level(level: int) -> int:
    """The queue of the schedule topic in which messages of a level wait."""
    return level - 1


def warn_of_lost_levels(delays: Sequence[int], kept_hours: int) -> None:
    """Log the levels, given by their delays in ms, that are longer than the log is kept."""
    for level, delay in enumerate(delays, start=1):
        if delay > kept_hours * _HOUR_MS:
            log.warning(
                "delay level %(delay_level)d: its messages are lost while they wait, "
                "see fileReservedTime (%(reserved_hours)d h)",
                {"delay_level": level, "reserved_hours": kept_hours},
            )
