"""One broker: its store and services, put together and kept running."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import trio

from rocketwire import native
from rocketwire.server.admin.runtime_info import RuntimeInfo
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.clients.heartbeats import Heartbeats
from rocketwire.server.clients.order_locks import OrderLocks
from rocketwire.server.config.config import ServerConfig
from rocketwire.server.config.limits import Limits
from rocketwire.server.config.live import LiveConfig
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Peer
from rocketwire.server.core.threads import RunSync
from rocketwire.server.delay.delivery import DelayDelivery
from rocketwire.server.delay.levels import warn_of_lost_levels
from rocketwire.server.dispatch.hot_paths import HotPaths
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.guards.throttle.backlog import Backlog
from rocketwire.server.guards.throttle.throttle import Throttle
from rocketwire.server.messages.page_cache import PageCacheGuard
from rocketwire.server.messages.storing import Storing
from rocketwire.server.name_server.registration import Registration
from rocketwire.server.name_server.routes import BrokerIdentity, RouteTable
from rocketwire.server.net.addresses import ip_address
from rocketwire.server.net.hub import Hub, hub_kernel
from rocketwire.server.net.in_flight import InFlight
from rocketwire.server.pull.answers import PullAnswers
from rocketwire.server.pull.consume_rates import ConsumeRates
from rocketwire.server.pull.kernel import KernelPulls
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.pull.offset_moved import OffsetMoved
from rocketwire.server.pull.services import PullServices
from rocketwire.server.retry.hot_send_backs import HotSendBacks
from rocketwire.server.retry.send_back import SendBack
from rocketwire.server.send.checks import SendChecks
from rocketwire.server.send.drafts import SendDrafts
from rocketwire.server.send.hot_sends import HotSends
from rocketwire.server.send.kernel import KernelSends
from rocketwire.server.send.replies import Replies
from rocketwire.server.send.sending import Sending
from rocketwire.server.timer.recall import Recall
from rocketwire.server.timer.sends import TimerSends
from rocketwire.server.timer.timer import Timer, warn_of_lost_messages
from rocketwire.server.topics.retry_topics import RetryTopics
from rocketwire.server.topics.room import TopicRoom
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.asking import everybody
from rocketwire.server.transactions.hot_ends import HotEnds
from rocketwire.server.transactions.service import Transactions
from rocketwire.server.upkeep import jobs as upkeep
from rocketwire.server.upkeep.files_watch import FilesWatch, Rewritable
from rocketwire.server.upkeep.lifetime import Lifetime
from rocketwire.server.upkeep.queue_removal import QueueRemoval
from rocketwire.server.upkeep.store_opening import opened_store, store_settings
from rocketwire.store.append.flush import GroupCommit, RunBlocking
from rocketwire.store.disk.files import RealFileSystem
from rocketwire.store.tables.consumer_filters import ConsumerFilterTable
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.addresses import Address
from rocketwire.wire.codes import VERSION_4_9_7, RequestCode
from rocketwire.wire.fast_done import DoneAnswers
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.send_answers import SendAnswers

if TYPE_CHECKING:
    from rocketwire.server.guards.acl.control import AccessControl

_FILTERS_INTERVAL: Final = 10_000  # ms; Apache has no key for it
_METRICS_INTERVAL: Final = 10_000  # ms


class Broker:
    """Opens the store and builds the services; `start` sets them going, `close` puts everything on the disk.

    Raises:
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
        access: AccessControl | None = None,
    ) -> None:
        self.clock = clock
        self.metrics = metrics
        self.access = access
        self.address = str(advertised)
        self._choose = choose
        self._run_sync = run_sync
        self._run_flush = run_flush
        self.config = live = LiveConfig(config, clock)
        self.in_flight = InFlight(Limits(lambda: live.current, metrics))
        # Records and message ids hold addresses, no names.
        self.store_host = encode_host(ip_address(advertised.host, option="--advertise, brokerIP1"), advertised.port)
        self.store = opened_store(store_settings(config), clock, self.store_host)
        self._open_tables(config)
        self.invalidation = CacheInvalidation()
        self.throttle = Throttle(live, self.topics, metrics)
        self.clients = ClientGroups(self.groups.notifies)
        self._make_storing(config)
        self._make_pulls(config)
        self._make_waiting(config)
        self._make_administration()
        self._backlog = Backlog(live, self.offsets, self.groups.table, self.store, self.throttle)
        self._registration = Registration(
            BrokerIdentity(
                cluster=config.broker_cluster_name,
                name=config.broker_name,
                broker_id=config.broker_id,
                address=self.address,
            ),
            ha_address=str(Address(host=advertised.host, port=advertised.port + 1)),
            routes=routes,
            topics=self.topics,
            config=live,
        )
        self._tell_of_changes()
        self._make_grouped(config)

    def _open_tables(self, config: ServerConfig) -> None:
        folder = self.store.settings.root / "config"
        levels = self.store.delay_levels
        topics = TopicTable.open(folder / "topics.json", clock=self.clock)
        groups = GroupTable.open(folder / "subscriptionGroup.json", clock=self.clock)
        self.topics = BrokerTopics(topics, self.config, TopicRoom(topics, groups, self.config))
        self.topics.make_system_topics(len(levels))
        warn_of_lost_levels(levels, config.file_reserved_time)
        self.groups = SubscriptionGroups(groups, self.config)
        self.groups.make_built_in()
        self.offsets = OffsetTable.open(folder / "consumerOffset.json", most=config.max_offsets)
        self._delay_offsets = DelayOffsetTable.open(folder / "delayOffset.json")
        filter_table = ConsumerFilterTable.open(folder / "consumerFilter.json")
        self.filters = ConsumerFilters(filter_table, self.clock)
        self._tables: list[tuple[SavedTable, str, int]] = [
            (self.offsets, "consumer offsets", config.flush_consumer_offset_interval),
            (self._delay_offsets, "delay offsets", config.flush_delay_offset_interval),
            (filter_table, "consumer filters", _FILTERS_INTERVAL),
        ]

    def _make_storing(self, config: ServerConfig) -> None:
        """Make what takes messages: storing, sends, messages given back."""
        live, topics = self.config, self.topics
        self._flush = GroupCommit(timeout=config.sync_flush_timeout / 1000) if config.sync_flush else None
        self._page_cache = PageCacheGuard(live)
        self.storing = Storing(self.store, flush=self._flush, metrics=self.metrics, page_cache=self._page_cache)
        retries = RetryTopics(self.groups, topics)
        timer_sends = TimerSends(live, topics, self.clock)
        checks = SendChecks(live, topics, choose=self._choose, retries=retries)
        levels = len(self.store.delay_levels)
        self.sending = Sending(SendDrafts(live, topics, checks, timer_sends, delay_levels=levels), self.throttle)
        self.send_back = SendBack(
            config=live, store=self.store, storing=self.storing, retries=retries, choose=self._choose
        )
        self.recall = Recall(live, topics, timer_sends, self.clock)
        self.replies = Replies(self.clients, self.clock, self.store_host)

    def _make_pulls(self, config: ServerConfig) -> None:
        moved = OffsetMoved(self.store, broker_name=config.broker_name, store_host=self.store_host, clock=self.clock)
        self.consume_rates = ConsumeRates()
        self.pull_answers = PullAnswers(
            self.store,
            self.config,
            metrics=self.metrics,
            consume_rates=self.consume_rates,
            offset_moved=moved,
            throttle=self.throttle,
        )
        self.long_poll = LongPoll(self.pull_answers, self.in_flight.limits)
        self.pulls = PullServices(
            clients=self.clients,
            config=self.config,
            consume_rates=self.consume_rates,
            invalidation=self.invalidation,
            filters=self.filters,
            groups=self.groups,
            long_poll=self.long_poll,
            metrics=self.metrics,
            offsets=self.offsets,
            pull_answers=self.pull_answers,
            throttle=self.throttle,
            topics=self.topics,
        )

    def _make_waiting(self, config: ServerConfig) -> None:
        """Make what has messages wait: for a time, or for the outcome of a transaction."""
        store, clock, wake = self.store, self.clock, self.long_poll.wake
        self.timer = timer = self._timer() if config.timer_wheel_enable else None
        store.arrivals.subscribe(self.long_poll.arrived)
        if timer is not None:
            store.arrivals.subscribe(timer.arrived)
            warn_of_lost_messages(timer.lap_ms, config.file_reserved_time)
            self._tables.append((timer.table, "timer metrics", _METRICS_INTERVAL))
        self.delays = DelayDelivery(
            store=store, table=self._delay_offsets, storing=self.storing, clock=clock, wake=wake
        )
        self.transactions = Transactions(
            store,
            self.offsets,
            config=self.config,
            topics=self.topics,
            clients=self.clients,
            clock=clock,
            store_host=self.store_host,
            wake=wake,
            append=self.storing.append,
            may_hear=everybody if self.access is None else self.access.may_hear,
        )

    def _timer(self) -> Timer:
        return Timer(
            store=self.store,
            files=RealFileSystem(),
            storing=self.storing,
            clock=self.clock,
            wake=self.long_poll.wake,
            run_sync=self._run_sync,
            topics=self.topics.table.configs,
        )

    def _make_grouped(self, config: ServerConfig) -> None:
        """Make the fast paths, which store all that one read brought as one group."""
        done = DoneAnswers(version=VERSION_4_9_7)
        answers = SendAnswers(region=config.region_id, trace_on=config.trace_on, version=VERSION_4_9_7)
        others = HotPaths(
            {
                RequestCode.CONSUMER_SEND_MSG_BACK: HotSendBacks(self.send_back, self.storing, done, self.metrics),
                RequestCode.END_TRANSACTION: HotEnds(self.transactions, self.storing, done, self.metrics),
            }
        )
        self.hot_sends = HotSends(self.sending, self.storing, answers, self.store_host, self.metrics, otherwise=others)
        self.kernel_sends = self._kernel_sends(answers)

    def _make_administration(self) -> None:
        timer = self.timer
        self.heartbeats = Heartbeats(
            config=self.config, topics=self.topics, groups=self.groups, clients=self.clients, filters=self.filters
        )
        self.order_locks = OrderLocks()
        self.lifetime = Lifetime(
            self.store, self.config, self.clock, self._run_sync, lambda: timer is not None and timer.catching_up
        )
        self.queue_removal = QueueRemoval(self.store.retention)
        self.runtime_info = RuntimeInfo(self.store, timer)

    def _tell_of_changes(self) -> None:
        invalidate = self.invalidation.invalidate
        self.topics.changed.subscribe(self._registration.register)
        self.clients.emptied.subscribe(self.filters.unregister)
        self.clients.resubscribed.subscribe(self.invalidation.invalidate_subscriptions)
        self.filters.changed.subscribe(self.invalidation.invalidate_subscriptions)
        for changed in (
            self.config.changed,
            self.topics.table.changed,
            self.groups.table.changed,
            self.store.queues.removed,
            self.throttle.forgets,
        ):
            changed.subscribe(invalidate)
        self.invalidation.register(self.throttle.changed)

    def _kernel_sends(self, answers: SendAnswers) -> KernelSends | None:
        if native.kernel is None:
            return None
        return KernelSends(
            sending=self.sending,
            storing=self.storing,
            store=self.store,
            answers=answers,
            store_host=self.store_host,
            config=self.config,
            metrics=self.metrics,
            page_cache=self._page_cache,
            flush=self._flush,
            invalidation=self.invalidation,
        )

    def make_hub(self, guarded: Callable[[], bool]) -> Hub | None:
        """What reads all connections of the broker, or None: each needs a task of its own.

        While it is guarded the kernel serves no request by itself.
        """
        kernel = hub_kernel()
        if kernel is None:
            return None
        return Hub(
            kernel,
            clock=self.clock,
            settle=self.long_poll.wake,
            sends=self.kernel_sends,
            pulls=KernelPulls(kernel, self.pulls, self.store),
            single_turns=self._others_are_due,
            in_flight=self.in_flight,
            guarded=guarded,
        )

    def _others_are_due(self) -> bool:
        """Whether other tasks have to do what clients wait for: a flush is to begin, or its end to be told."""
        return self._page_cache.busy or (self._flush is not None and self._flush.waited_for)

    def time_flushes(self, note: Callable[[float], None]) -> None:
        """Have told how many seconds each flush takes that somebody waits for."""
        if self._flush is not None:
            self._flush.flushed.subscribe(note)

    def start(self, nursery: trio.Nursery) -> None:
        """Register with the name server and start the recurring work in `nursery`."""
        self._registration.register()
        nursery.start_soon(self._registration.run)
        nursery.start_soon(self.in_flight.run)
        nursery.start_soon(self.clients.run)
        nursery.start_soon(self.order_locks.run)
        nursery.start_soon(self.filters.run)
        nursery.start_soon(self.long_poll.run)
        nursery.start_soon(self.consume_rates.run)
        nursery.start_soon(self._backlog.run)
        nursery.start_soon(self.delays.run)
        if self.timer is not None:
            nursery.start_soon(self.timer.run)
        if self.access is not None:
            nursery.start_soon(self.access.run, self._run_sync)
        nursery.start_soon(self.transactions.run)
        tables: list[Rewritable] = [self.topics.table, self.groups.table]
        tables += [table for table, _, _ in self._tables]
        nursery.start_soon(FilesWatch(self.store, tables, self._run_sync).run)
        nursery.start_soon(self.lifetime.watch_disk)
        nursery.start_soon(self.lifetime.clean)
        nursery.start_soon(self.queue_removal.run)
        nursery.start_soon(upkeep.flush, self.store, self.config, self._run_sync)
        nursery.start_soon(upkeep.index, self.store, self._run_sync)
        for table, what, interval in self._tables:
            nursery.start_soon(upkeep.persist, table, what, interval, self._run_sync)
        for growing, what in ((self.topics.table, "topics"), (self.groups.table, "groups")):
            nursery.start_soon(upkeep.save, growing, what, self._run_sync)
        if self._flush is not None:
            nursery.start_soon(self._flush.run, self.store, self._run_flush)

    def peer_closed(self, peer: Peer) -> None:
        """Forget what a closed connection had."""
        self.clients.peer_closed(peer)
        self.long_poll.peer_closed(peer)

    def close(self) -> None:
        """Write everything to the disk and release the store."""
        self._registration.unregister()
        with contextlib.ExitStack() as stack:  # each is tried, whatever becomes of the others
            stack.callback(self.store.close)
            for table, _, _ in self._tables:
                stack.callback(table.persist)
            stack.callback(self.groups.table.finish)
            stack.callback(self.topics.table.finish)
            if self.timer is not None:
                stack.callback(self.timer.close)
            stack.callback(self.delays.close)
