"""Subscription groups: their configurations, and automatic creation."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import NameInvalid
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import in_batches
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.topics import check_queues
from rocketwire.store.errors import StoreError
from rocketwire.store.tables.groups import GroupTable
from rocketwire.wire import names
from rocketwire.wire.bodies.group import SubscriptionGroupConfig

log = logging.getLogger(__name__)


class SubscriptionGroups:
    """Group configurations of one broker."""

    def __init__(self, table: GroupTable, keys: LiveGroup[TopicKeys], limit_keys: LiveGroup[LimitKeys]) -> None:
        self._table = table
        self._keys = keys
        self._limit_keys = limit_keys

    def make_built_in(self) -> None:
        """Enter the groups that every broker has; existing ones stay as they are."""
        for group in names.PREDEFINED_GROUPS:
            self._table.put_built_in(SubscriptionGroupConfig(group_name=group))

    @property
    def table(self) -> GroupTable:
        """The table itself: all groups and their data version."""
        return self._table

    def put(self, group: SubscriptionGroupConfig) -> None:
        """Enter or change a group.

        Raises:
            NameInvalid: its name breaks the rules; nothing is changed.
            QueuesTooMany: its retry topic would have more queues than a topic may have, and than before; nothing is
                changed.
            StoreError: it could not be saved; it is in force until the next start.
        """
        self.put_all([group])

    def put_all(self, groups: Sequence[SubscriptionGroupConfig]) -> None:
        """Enter or change several groups, which are saved together.

        Raises:
            NameInvalid, QueuesTooMany, LimitExceeded: as `put`, of one of them; those before it are entered.
            StoreError: they could not be saved; they are in force until the next start.
        """
        version = self._table.data_version
        try:
            for group in groups:
                self._enter(group)
        finally:
            if self._table.data_version != version:
                self._table.persist()

    def _enter(self, group: SubscriptionGroupConfig) -> None:
        problem = names.group_name_error(group.group_name)
        if problem is not None:
            raise NameInvalid(problem)
        known = self._table.get(group.group_name)
        before = known.retry_queue_nums if known else 0
        check_queues(f"the retry topic of group[{group.group_name}]", group.retry_queue_nums, most=before)
        if known is None:
            self._check_room()
        self._table.put(group)
        log.info("group %(group)s: configuration changed", {"group": group.group_name})

    def remove(self, group: str) -> None:
        """Remove a group's configuration, if there is one.

        Raises:
            StoreError: the removal could not be saved; it is in force until the next start.
        """
        if self._table.remove(group):
            log.info("group %(group)s: configuration removed", {"group": group})
            self._table.persist()

    def find(self, group: str) -> SubscriptionGroupConfig | None:
        """A group's configuration; an unknown one is created with defaults if `autoCreateSubscriptionGroup` is true.

        Raises:
            NameInvalid: the name of a new group is not valid.
            LimitExceeded: there are too many groups to create it.
        """
        known = self._table.get(group)
        if known is not None:
            return known
        made = self._make_group(group)
        if made is not None:
            self._write_down()
        return made

    def find_all(self, groups: Collection[str]) -> Operation[list[SubscriptionGroupConfig | None]]:
        """`find` of several groups, in steps; groups created in one step are saved together.

        Raises:
            NameInvalid: the name of a new group is not valid; those before it are created.
            LimitExceeded: there are too many groups to create one; those before it are created.
        """
        found: list[SubscriptionGroupConfig | None] = []
        for part in in_batches(groups):
            version = self._table.data_version
            try:
                found += [self._table.get(group) or self._make_group(group) for group in part]
            finally:
                if self._table.data_version != version:
                    self._write_down()
            yield None
        return found

    def _make_group(self, group: str) -> SubscriptionGroupConfig | None:
        if not self._keys.current.auto_create_subscription_group and not names.is_system_group(group):
            return None
        problem = names.group_name_error(group)
        if problem is not None:
            raise NameInvalid(problem)
        self._check_room()
        made = SubscriptionGroupConfig(group_name=group)
        self._table.put(made)
        log.info("group %(group)s: created", {"group": group})
        return made

    def _check_room(self) -> None:
        most = self._limit_keys.current.max_groups
        if len(self._table) >= most:
            raise LimitExceeded("maxGroups", most)

    def _write_down(self) -> None:
        try:
            self._table.persist()
        except StoreError as error:  # the groups can consume nevertheless; the next change saves them
            log.error("new groups are not written down: %(reason)s", {"reason": error})  # noqa: TRY400 - the text suffices

    def notifies(self, group: str) -> bool:
        """Whether members of the group are notified of its changes."""
        known = self._table.get(group)
        enabled = self._keys.current.notify_consumer_ids_changed_enable
        return enabled and (known is None or known.notify_consumer_ids_changed_enable)
