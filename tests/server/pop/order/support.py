"""A broker's pops in order on tables in a folder, without a store."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.pop.order.ordered_queues import OrderedQueues
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.pop.reviving.resetting import OffsetResetter
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.pop.offset_resets import OffsetResetTable
from rocketwire.store.tables.pop.order_info import OrderInfoTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from tests.server.harness import Clock
from tests.server.memory_store import MemoryStore

QUEUE: Final = PopQueue("T", "G", 0)


class Setting:
    """The topic T with two queues, and the group G."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        keys = LiveGroup(TopicKeys())
        topics = TopicTable.open(folder / "topics.json", clock=self.clock)
        groups = GroupTable.open(folder / "groups.json", clock=self.clock)
        self.topics = BrokerTopics(topics, keys)
        self.groups = SubscriptionGroups(groups, keys, LiveGroup(LimitKeys()))
        topics.put_built_in(TopicConfig(topic_name="T", read_queue_nums=2, write_queue_nums=2))
        groups.put_built_in(SubscriptionGroupConfig(group_name="G"))
        self.freed: list[PopQueue] = []
        self.start()

    def start(self) -> None:
        """Start, with what is saved."""
        self.table = OrderInfoTable.open(self.folder / "consumerOrderInfo.json")
        self.offsets = OffsetTable.open(self.folder / "consumerOffset.json")
        self.ordered = OrderedQueues(
            self.table,
            self.offsets,
            topics=self.topics,
            groups=self.groups,
            clock=self.clock,
            due_time=DueTime(),
            renewals=Renewals(lambda: 0.0, lambda: 0),
            resets=OffsetResetter(
                OffsetResetTable.open(self.folder / "offsetResets.json"),
                self.offsets,
                store=MemoryStore(self.clock, ()),
                clock=self.clock,
                timer_keys=LiveGroup(TimerKeys()),
                wake=lambda: None,
            ),
        )
        self.ordered.freed.subscribe(self.freed.append)

    def save(self) -> None:
        """Save all, as at a stop."""
        self.table.persist()
        self.offsets.persist()
