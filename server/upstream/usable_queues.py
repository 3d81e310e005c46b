"""The queues of a topic as other servers tell them, within what a topic may have here."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from rocketwire.server.topics.topics import MOST_QUEUES
from rocketwire.wire.bodies.route import QueueData

log = logging.getLogger(__name__)

MOST_IN_ALL: Final = 4 * MOST_QUEUES
"""Of all brokers: lists with an entry for each queue are made of them."""


def usable_queues(topic: str, told: Iterable[QueueData]) -> list[QueueData]:
    """The queues of each broker, once, with numbers that a topic may have; what is too much is left out."""
    found: dict[str, QueueData] = {}
    left = MOST_IN_ALL
    for each in told:
        read, write = (min(max(number, 0), MOST_QUEUES) for number in (each.read_queue_nums, each.write_queue_nums))
        if each.broker_name in found:
            continue
        left -= max(read, write)
        if left < 0:
            log.warning(
                "topic %(topic)s has more than %(most)d queues: those of further brokers are left out",
                {"topic": topic, "most": MOST_IN_ALL},
            )
            break
        if (read, write) != (each.read_queue_nums, each.write_queue_nums):
            each = replace(each, read_queue_nums=read, write_queue_nums=write)  # noqa: PLW2901 - as it can be used
        found[each.broker_name] = each
    return list(found.values())
