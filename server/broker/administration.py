"""The administration of one broker: its clients, retention, removals, and operators' queries."""

from __future__ import annotations

import trio

from rocketwire.server.admin.runtime_info import Disk, RuntimeInfo
from rocketwire.server.admin.timer_info import TimerInfo
from rocketwire.server.admin.topic_removal import TopicRemoval
from rocketwire.server.broker.delays import BrokerDelays
from rocketwire.server.broker.foundation import Foundation
from rocketwire.server.broker.sends import BrokerSends
from rocketwire.server.broker.tables import BrokerTables
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.clients.heartbeats import Heartbeats
from rocketwire.server.clients.order_locks import OrderLocks
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.maintenance import jobs
from rocketwire.server.maintenance.keys import FlushKeys, RetentionKeys
from rocketwire.server.maintenance.queue_removal import QueueRemoval
from rocketwire.server.maintenance.retention import FileRetention
from rocketwire.server.pop.pops import Pops
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.statistics.rates import Rates
from rocketwire.server.topics.keys import TopicKeys


class BrokerAdministration:
    """The services beside messages.

    Attributes:
        heartbeats: Takes heartbeats.
        order_locks: The locks of queues that are consumed in order.
        lifetime: Removes expired files.
        queue_removal: Removes queues without messages.
        topic_removal: Removes topics.
        runtime_info: The broker's state, for operators.
    """

    def __init__(
        self,
        base: Foundation,
        tables: BrokerTables,
        clients: ClientGroups,
        sends: BrokerSends,
        delays: BrokerDelays,
        long_poll: LongPoll,
        pops: Pops,
    ) -> None:
        self._base = base
        store, timer, times = base.store, delays.timer, sends.page_cache.times
        self._rates = Rates(base.metrics, base.clock, times)
        self.heartbeats = Heartbeats(
            limit_keys=base.config[LimitKeys],
            topic_keys=base.config[TopicKeys],
            topics=tables.topics,
            groups=tables.groups,
            clients=clients,
            filters=tables.filters,
        )
        self.order_locks = OrderLocks()
        self.lifetime = FileRetention(
            store,
            base.config[RetentionKeys],
            base.clock,
            base.run_sync,
            lambda: timer is not None and timer.catching_up,
            base.background,
        )
        self.queue_removal = QueueRemoval(store.retention, base.background)
        self.topic_removal = TopicRemoval(
            store,
            retention=store.retention,
            deleted=store.deleted_topics,
            topics=tables.topics,
            offsets=tables.offsets,
            long_poll=long_poll,
            pops=pops,
            run_sync=base.run_sync,
            budget=base.background,
        )
        self.runtime_info = RuntimeInfo(
            store=store,
            clock=base.clock,
            metrics=base.metrics,
            rates=self._rates,
            append_times=times,
            delays=delays.delays,
            timer=TimerInfo(timer),
            disk=self._disk,
        )

    def _disk(self) -> Disk:
        store = self._base.store
        used, (total, free) = store.retention.disk_usage(), store.retention.disk_space()
        return Disk(
            folder=store.settings.commit_log,
            commit_log=used.commit_log,
            consume_queues=used.consume_queues,
            total=total,
            free=free,
        )

    def start(self, nursery: trio.Nursery) -> None:
        """Start the recurring work."""
        base = self._base
        nursery.start_soon(self.order_locks.run, base.background)
        nursery.start_soon(self._rates.run)
        nursery.start_soon(self.lifetime.watch_disk)
        nursery.start_soon(self.lifetime.clean)
        nursery.start_soon(self.queue_removal.run)
        nursery.start_soon(self.topic_removal.run)
        nursery.start_soon(jobs.flush, base.store, base.config[FlushKeys], base.run_sync)
        nursery.start_soon(jobs.index, base.store, base.run_sync, base.background)
