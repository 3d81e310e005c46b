"""The drafts of POP's records by the C kernel, for what most pops and acknowledgements are; `records` is its twin."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from rocketwire import native
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.fast import tags_code
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.pop_records import ACK_TAG, BATCH_ACK_TAG, CHECK_POINT_TAG, encode_names

if TYPE_CHECKING:
    from rocketwire._kernel import PopDrafts

PointNames: TypeAlias = tuple[bytes, bytes, bytes, bytes, bytes]
"""The names of a check point: the members of its body for broker and group, and for the topic; topic, group, broker."""

_CODES: Final = (tags_code(CHECK_POINT_TAG), tags_code(ACK_TAG), tags_code(BATCH_ACK_TAG))
_REAL: Final = "REAL_"
_KEPT: Final = 1024
"""Brokers, groups and topics whose names are kept."""


def pop_drafts(revive_topic: str, host: bytes) -> PopDrafts | None:
    """What makes drafts for a revive topic, with the broker's address as records have it; None: the twin does."""
    if native.kernel is None or not _is_plain(revive_topic):
        return None
    made: PopDrafts = native.kernel.PopDrafts(
        draft=Draft, revive_topic=revive_topic, timer_topic=TIMER_TOPIC, host=host, codes=_CODES
    )
    return made


@lru_cache(maxsize=_KEPT)
def point_names(topic: str, group: str, broker: str) -> PointNames | None:
    """The names of a check point for the kernel; None: its records are for the twin."""
    if not all(map(_is_plain, (topic, group, broker))):
        return None
    members, topic_member = encode_names(broker, group, topic)
    return members.encode(), topic_member.encode(), topic.encode(), group.encode(), broker.encode()


def _is_plain(name: str) -> bool:
    """Whether it is nothing but text within properties: none is added then but behind all others."""
    return name.isprintable() and _REAL not in name
