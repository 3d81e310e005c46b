"""Consumer groups, as calls know them."""

from __future__ import annotations

from typing import Protocol

from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.wire.bodies.group import SubscriptionGroupConfig


class GroupDirectory(Protocol):
    """The groups' configurations."""

    def get(self, group: str) -> SubscriptionGroupConfig | None:
        """A group's configuration; None: there is no such group, or it has to be asked for."""

    def needs_request(self, group: str) -> bool:
        """Whether a group has to be asked for (352) before `get` is right."""


class OwnGroups:
    """Those of this broker."""

    def __init__(self, groups: SubscriptionGroups) -> None:
        self._table = groups.table

    def get(self, group: str) -> SubscriptionGroupConfig | None:
        """A group's configuration; None: there is no such group."""
        return self._table.get(group)

    def needs_request(self, _group: str) -> bool:
        """All are known."""
        return False
