"""The parts of one broker: opened in their order, started, and closed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import trio

from rocketwire.server.access import access_control
from rocketwire.server.acl.message_owner import owner_at
from rocketwire.server.broker.administration import BrokerAdministration
from rocketwire.server.broker.cluster import BrokerCluster
from rocketwire.server.broker.delays import BrokerDelays
from rocketwire.server.broker.deliveries import BrokerPops, make_pulls
from rocketwire.server.broker.foundation import Foundation
from rocketwire.server.broker.sends import BrokerSends
from rocketwire.server.broker.tables import BrokerTables
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.configuration import LiveConfig, ServerConfig, store_settings
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Peer
from rocketwire.server.core.threads import RunSync
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.maintenance.store_opening import open_store
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.net.addresses import ip_address
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.hub import Hub, hub_kernel
from rocketwire.server.pull.kernel import KernelPulls
from rocketwire.server.statistics.statistics import Statistics
from rocketwire.server.throttle.backlog import GroupBacklogs
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.store.append.group_commit import RunBlocking
from rocketwire.store.store import MessageStore
from rocketwire.wire import names
from rocketwire.wire.addresses import Address
from rocketwire.wire.hosts import encode_host


class Broker:
    """Opens the store and builds the services; `start` sets them going, `close` puts everything on the disk.

    Attributes:
        base: What all of them use.
        tables: Topics, groups, offsets and other tables.
        throttle: The quotas.
        clients: The connected groups.
        statistics: What was stored and delivered.
        sends: The services that store messages.
        pulls: The services of pulls.
        delays: The services that hold messages back.
        pops: Pops.
        administration: The services beside messages.
        cluster: The registrations at name servers.

    Raises:
        ConfigError: the accounts' file cannot be used; the store was not touched.
        HostUnknown: the advertised host has no address; the store was not touched.
        StoreError: the store directory cannot be used.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        advertised: Address,
        routes: RouteTable,
        metrics: Metrics,
        clock: Clock,
        choose: Callable[[int], int],
        run_sync: RunSync,
        run_flush: RunBlocking,
        due_time: DueTime | None = None,
    ) -> None:
        self._run_flush = run_flush
        live = LiveConfig(config, clock)
        opened: list[MessageStore] = []
        # Before the store is touched: its file may be wrong.
        access = access_control(config, live, clock, metrics, owner_at=lambda offset: owner_at(opened[0], offset))
        # Records and message ids hold addresses, no names.
        store_host = encode_host(ip_address(advertised.host, option="--advertise, brokerIP1"), advertised.port)
        store = open_store(store_settings(config), clock, store_host)
        opened.append(store)
        self.base = base = Foundation(
            access=access,
            background=BackgroundBudget(metrics.requests.total),
            choose=choose,
            clock=clock,
            config=live,
            due_time=due_time or DueTime(),
            in_flight=InFlight(Limits(live[LimitKeys], metrics)),
            invalidation=CacheInvalidation(),
            metrics=metrics,
            run_sync=run_sync,
            started=config,
            stopped=store.last_append_timestamp,  # before anything is repaired
            store=store,
            store_host=store_host,
        )
        self.tables = tables = BrokerTables(base)
        self.throttle = Throttle(live[ThrottleKeys], tables.topics, metrics, region=config.broker.region_id)
        self.clients = ClientGroups(tables.groups.notifies)
        self.statistics = _statistics(base, tables)
        self.sends = BrokerSends(base, tables, self.throttle, self.clients, self.statistics)
        self.pulls = make_pulls(base, tables, self.throttle, self.clients, self.statistics)
        store.arrivals.subscribe(self.pulls.long_poll.arrived)
        storing = self.sends.storing
        self.delays = BrokerDelays(base, tables, storing, self.clients, self.wake)
        if self.sends.kernel is not None:
            self.sends.kernel.serve_outcomes(self.delays.transactions.ending)
        self.pops = BrokerPops(base, tables, storing, self.throttle, self.statistics, self.delays.timer, self.wake)
        self.administration = BrokerAdministration(
            base, tables, self.clients, self.sends, self.delays, self.pulls.long_poll, self.pops.pops
        )
        self.cluster = BrokerCluster(base, tables, self.clients, routes, advertised)
        self._backlog = GroupBacklogs(live[ThrottleKeys], tables.offsets, tables.groups.table, store, self.throttle)
        self._subscribe_to_changes()

    def _subscribe_to_changes(self) -> None:
        base, tables = self.base, self.tables
        invalidation = base.invalidation
        if base.access is not None:
            base.access.changed.subscribe(self.pulls.long_poll.end_all)
            base.access.changed.subscribe(self.pops.pops.end_all)
        self.clients.emptied.subscribe(tables.filters.unregister)
        self.clients.resubscribed.subscribe(invalidation.invalidate_subscriptions)
        tables.filters.changed.subscribe(invalidation.invalidate_subscriptions)
        for changed in (
            base.config.changed,
            tables.topics.table.changed,
            tables.groups.table.changed,
            base.store.queues.on_queue_removed,
            self.throttle.invalidated,
        ):
            changed.subscribe(invalidation.invalidate)
        invalidation.register(self.throttle.changed)

    def wake(self) -> None:
        """Serve the requests that wait for what arrived since the last call."""
        self.pulls.long_poll.wake()
        self.pops.pops.wake()

    def make_hub(self, guarded: Callable[[], bool]) -> Hub | None:
        """The hub, which reads all connections of the broker; None: each connection has its own task.

        While it is guarded the kernel serves no request.
        """
        kernel = hub_kernel()
        if kernel is None:
            return None
        return Hub(
            kernel,
            clock=self.base.clock,
            settle=self.wake,
            sends=self.sends.kernel,
            pulls=KernelPulls(kernel, self.pulls, self.base.store),
            single_turns=lambda: self.sends.others_are_due,
            in_flight=self.base.in_flight,
            guarded=guarded,
        )

    def start(self, nursery: trio.Nursery) -> None:
        """Register with the name server and start the recurring work in `nursery`."""
        base = self.base
        self.cluster.start(nursery)
        nursery.start_soon(base.in_flight.run)
        nursery.start_soon(self.clients.run, base.background)
        nursery.start_soon(self.pulls.long_poll.run)
        self.pops.start(nursery)
        nursery.start_soon(self.statistics.run)
        nursery.start_soon(self._backlog.run)
        self.delays.start(nursery)
        if base.access is not None:
            nursery.start_soon(base.access.run, base.run_sync)
        self.administration.start(nursery)
        self.tables.start(nursery, base)
        self.sends.start(nursery, self._run_flush)

    def peer_closed(self, peer: Peer) -> None:
        """Forget what a closed connection had."""
        self.clients.peer_closed(peer)
        self.pulls.long_poll.peer_closed(peer)
        self.pops.pops.peer_closed(peer)

    def close(self) -> None:
        """Write everything to the disk and release the store."""
        self.cluster.leave()
        with contextlib.ExitStack() as stack:  # each is closed even if closing another fails
            stack.callback(self.base.store.close)
            self.tables.close(stack)
            if self.delays.timer is not None:
                stack.callback(self.delays.timer.close)
            stack.callback(self.delays.delays.close)


def _statistics(base: Foundation, tables: BrokerTables) -> Statistics:
    topics, groups, queues = tables.topics.table, tables.groups.table, base.store.queues

    def has_arrived(topic: str) -> bool:
        config = tables.topics.get(topic)
        return queues.has_new_counts(topic, 1 if config is None else config.write_queue_nums)

    statistics = Statistics(
        base.metrics,
        arrivals=queues.take_counts,
        has_arrived=has_arrived,
        has_topic=lambda topic: topics.get(topic) is not None or topic in names.SEND_FORBIDDEN_TOPICS,
        has_group=lambda group: groups.get(group) is not None,
    )
    topics.changed.subscribe(statistics.forget_removed)
    groups.changed.subscribe(statistics.forget_removed)
    return statistics
