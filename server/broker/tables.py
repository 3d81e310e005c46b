"""The tables of one broker beside its log: topics, groups, offsets and whatever has a file in its config folder."""

from __future__ import annotations

import contextlib
from typing import Final

import trio

from rocketwire.server.admin.topic_removal import finish_deletions
from rocketwire.server.broker.foundation import Foundation
from rocketwire.server.delay.levels import warn_of_lost_levels
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.maintenance import jobs
from rocketwire.server.maintenance.files_watch import MissingFilesWatch, RewritableTable
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topic_limit import TopicLimit
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.tables.consumer_filters import ConsumerFilterTable
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.pop.offset_resets import OffsetResetTable
from rocketwire.store.tables.pop.order_info import OrderInfoTable
from rocketwire.store.tables.request_modes import RequestModeTable
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.store.tables.topics import TopicTable

_INTERVAL_MS: Final = 10_000
"""How often tables are written that Apache has no key for; most are written when they change, too."""


class BrokerTables:
    """Opens the tables; `start` has those that change written at intervals, `close` writes them all.

    Attributes:
        topics: The topics.
        groups: The subscription groups.
        offsets: The offsets of consumer groups.
        filters: The SQL filters of consumer groups.
        delay_offsets: How far the delay levels are delivered.
        request_modes: How groups get messages assigned.
        offset_resets: Resets of offsets that consumers have still to learn of.
        order_info: Pops in order.
    """

    def __init__(self, base: Foundation) -> None:
        config, store = base.started, base.store
        folder = store.settings.root / "config"
        levels = store.delay_levels
        topics = TopicTable.open(folder / "topics.json", clock=base.clock)
        groups = GroupTable.open(folder / "subscriptionGroup.json", clock=base.clock)
        self.offsets = OffsetTable.open(folder / "consumerOffset.json", most=config.limits.max_offsets)
        finish_deletions(store.deleted_topics, topics, self.offsets)
        topic_keys, limit_keys = base.config[TopicKeys], base.config[LimitKeys]
        self.topics = BrokerTopics(topics, topic_keys, TopicLimit(topics, groups, limit_keys))
        self.topics.make_system_topics(config.broker, len(levels))
        warn_of_lost_levels(levels, config.retention.file_reserved_time)
        self.groups = SubscriptionGroups(groups, topic_keys, limit_keys)
        self.groups.make_built_in()
        self.delay_offsets = DelayOffsetTable.open(folder / "delayOffset.json")
        filters = ConsumerFilterTable.open(folder / "consumerFilter.json")
        self.filters = ConsumerFilters(filters, base.clock)
        self.request_modes = RequestModeTable.open(folder / "messageRequestMode.json")
        self.offset_resets = OffsetResetTable.open(folder / "offsetResets.json")
        self.order_info = OrderInfoTable.open(folder / "consumerOrderInfo.json")
        self._saved: list[tuple[SavedTable, str, int]] = [
            (self.offsets, "consumer offsets", config.tables.flush_consumer_offset_interval),
            (self.delay_offsets, "delay offsets", config.tables.flush_delay_offset_interval),
            (filters, "consumer filters", _INTERVAL_MS),
            (self.order_info, "pops in order", _INTERVAL_MS),
            (self.offset_resets, "resets of offsets", _INTERVAL_MS),
            (self.request_modes, "message request modes", _INTERVAL_MS),
        ]

    def add(self, table: SavedTable, what: str) -> None:
        """Have one more table written at intervals."""
        self._saved.append((table, what, _INTERVAL_MS))

    def start(self, nursery: trio.Nursery, base: Foundation) -> None:
        """Start the tasks that write the tables, and that check whether their files still exist."""
        growing = ((self.topics.table, "topics"), (self.groups.table, "groups"))
        every: list[RewritableTable] = [table for table, _ in growing]
        every += [table for table, _, _ in self._saved]
        nursery.start_soon(self.filters.run)
        nursery.start_soon(MissingFilesWatch(base.store, every, base.run_sync).run)
        for table, what, interval in self._saved:
            before = base.store if table is self.offsets else None
            nursery.start_soon(jobs.persist, table, what, interval, base.run_sync, base.background, before)
        for grown, what in growing:
            nursery.start_soon(jobs.save, grown, what, base.run_sync)

    def close(self, stack: contextlib.ExitStack) -> None:
        """Have all tables written when the stack unwinds."""
        for table, _, _ in self._saved:
            stack.callback(table.close)
        stack.callback(self.groups.table.finish)
        stack.callback(self.topics.table.finish)
