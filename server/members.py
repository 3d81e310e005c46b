"""A consumer group's members, and whether they agree.

Each member keeps what its own last heartbeat said; when members of a group come to say different things, or the same
again, that is logged once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final

from rocketwire.server.consistency import Difference, Subscriptions, differences
from rocketwire.server.request import Peer
from rocketwire.wire.bodies.client import ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData

log = logging.getLogger(__name__)

_LOGGED_CHARACTERS: Final = 2000


@dataclass(slots=True)
class Member:
    """One connection of a group."""

    client_id: str
    language: str
    version: int
    last_seen: float
    subscriptions: Subscriptions = field(default_factory=dict)
    """Of a consumer: what its own last heartbeat said, by topic."""


@dataclass(slots=True)
class ConsumerGroup:
    """A consumer group's members and what they subscribed to (the newest heartbeat counts)."""

    name: str
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None
    members: dict[Peer, Member] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    """Where the members' own subscriptions differ."""
    changes: int = 0
    """How often a heartbeat changed what stands here, apart from the members."""

    @property
    def broadcasting(self) -> bool:
        """Whether every member gets every message."""
        return self.message_model is MessageModel.BROADCASTING

    def client_ids(self) -> list[str]:
        """The members' client ids."""
        return [member.client_id for member in self.members.values()]

    def consumes(self) -> tuple[object, ...]:
        """What a heartbeat may change of a group, apart from its members."""
        return self.consume_type, self.message_model, self.consume_from_where, self.subscriptions.copy()

    def compare(self, changed: Member | None = None) -> None:
        """Log when the members' own subscriptions differ otherwise than before: one changed his, or left."""
        members = list(self.members.values())
        if not self.differences:
            # All agreed, so any one speaks for the others: to compare all for each that joins takes long.
            members = [each for each in members[:2] if each is not changed][:1] + ([changed] if changed else [])
            if not differences(self.name, [(each.client_id, each.subscriptions) for each in members]):
                return
            members = list(self.members.values())
        found = differences(self.name, [(each.client_id, each.subscriptions) for each in members])
        before, self.differences = self.differences, found
        if _disputed(found) == _disputed(before):
            return
        said = " / ".join(map(str, found))
        if len(said) > _LOGGED_CHARACTERS:
            said = said[:_LOGGED_CHARACTERS] + " …"
        if not found:
            log.info("consumer group %s: its members subscribe to the same again", self.name)
        elif any(difference.matters for difference in found):
            log.warning("consumer group %s: its members disagree, so messages may be lost to it; %s", self.name, said)
        else:
            log.info("consumer group %s: its members write their subscriptions differently; %s", self.name, said)


def _disputed(found: tuple[Difference, ...]) -> list[tuple[str, list[str]]]:
    """What is said of which topic, whoever says it."""
    return [(each.topic, [side.said for side in each.sides]) for each in found]
