"""A consumer group's members, and whether their subscriptions agree.

Each member keeps the subscriptions of its last heartbeat; when members begin to disagree, or agree again, that is
logged once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from rocketwire.server.clients.consistency import SubscriptionDifference, Subscriptions, each_difference
from rocketwire.server.core.request import Peer
from rocketwire.wire.bodies.client import ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData

log = logging.getLogger(__name__)

_LOGGED_CHARACTERS: Final = 2000
_LOGGED_DIFFERENCES: Final = 200  # if they have more characters than that


@dataclass(slots=True)
class GroupMember:
    """One connection of a group."""

    client_id: str
    language: str
    version: int
    last_seen: float
    subscriptions: Subscriptions = field(default_factory=dict)
    """Of a consumer: the subscriptions of its last heartbeat, by topic."""


@dataclass(slots=True)
class ConsumerGroup:
    """A consumer group's members and what they subscribed to (the newest heartbeat counts)."""

    name: str
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None
    members: dict[Peer, GroupMember] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)
    differences: tuple[SubscriptionDifference, ...] = ()
    """Where the members' own subscriptions differ."""
    changes: int = 0
    """How often a heartbeat changed the group's data, apart from the members."""
    uncompared: bool = False
    """Whether members changed since the last comparison."""

    @property
    def broadcasting(self) -> bool:
        """Whether every member gets every message."""
        return self.message_model is MessageModel.BROADCASTING

    def client_ids(self) -> list[str]:
        """The members' client ids."""
        return [member.client_id for member in self.members.values()]

    def consumes(self) -> tuple[object, ...]:
        """The data that a heartbeat may change of a group, apart from its members."""
        return self.consume_type, self.message_model, self.consume_from_where, self.subscriptions.copy()

    def agrees_with(self, changed: GroupMember | None) -> bool:
        """Whether all members still agree after one changed its subscriptions, or left.

        While all agree, comparing with any one is enough: comparing all for each new member takes long.
        """
        if self.differences or self.uncompared:
            return False
        other = next((each for each in self.members.values() if each is not changed), None)
        two = [each for each in (changed, other) if each is not None]
        return not any(each_difference(self.name, _subscriptions(two)))

    def compare(self) -> Iterator[None]:
        """Log the differences of the members' subscriptions if they have changed, in steps."""
        self.uncompared = False
        differing: list[SubscriptionDifference] = []
        for difference in each_difference(self.name, _subscriptions(self.members.values())):
            if difference is not None:
                differing.append(difference)
            yield
        found = tuple(differing)
        before, self.differences = self.differences, found
        if _disputed(found) == _disputed(before):
            return
        shown = " / ".join(map(str, found[:_LOGGED_DIFFERENCES]))
        if len(shown) > _LOGGED_CHARACTERS:
            shown = shown[:_LOGGED_CHARACTERS] + " …"
        if not found:
            log.info("consumer group %(group)s: its members subscribe to the same again", {"group": self.name})
        elif any(difference.matters for difference in found):
            log.warning(
                "consumer group %(group)s: its members disagree, so messages may be lost to it; %(subscriptions)s",
                {"group": self.name, "subscriptions": shown},
            )
        else:
            log.info(
                "consumer group %(group)s: its members write their subscriptions differently; %(subscriptions)s",
                {"group": self.name, "subscriptions": shown},
            )


def _subscriptions(members: Iterable[GroupMember]) -> list[tuple[str, Subscriptions]]:
    return [(each.client_id, each.subscriptions) for each in members]


def _disputed(found: tuple[SubscriptionDifference, ...]) -> list[tuple[str, list[str]]]:
    """The different subscriptions of each topic, without the members."""
    return [(each.topic, [side.text for side in each.variants]) for each in found]
