"""One broker: its store and services, put together and kept running."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

import trio

from rocketwire import native
from rocketwire.server.access import access_control
from rocketwire.server.acl.message_owner import owner_at
from rocketwire.server.admin.runtime_info import Disk, RuntimeInfo
from rocketwire.server.admin.timer_info import TimerInfo
from rocketwire.server.admin.topic_removal import TopicRemoval, finish_deletions
from rocketwire.server.assignments.assignments import Assignments
from rocketwire.server.assignments.keys import AssignmentKeys
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.clients.heartbeats import Heartbeats
from rocketwire.server.clients.order_locks import OrderLocks
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.configuration import LiveConfig, ServerConfig, store_settings
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.due_time import DueTime
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Peer
from rocketwire.server.core.threads import RunSync
from rocketwire.server.delay.delivery import DelayDelivery
from rocketwire.server.delay.levels import warn_of_lost_levels
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.maintenance import jobs as upkeep
from rocketwire.server.maintenance.files_watch import MissingFilesWatch, RewritableTable
from rocketwire.server.maintenance.keys import FlushKeys, RetentionKeys
from rocketwire.server.maintenance.queue_removal import QueueRemoval
from rocketwire.server.maintenance.retention import FileRetention
from rocketwire.server.maintenance.store_opening import open_store
from rocketwire.server.messages.keys import PageCacheKeys
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.messages.page_cache import PageCacheGuard
from rocketwire.server.name_server.registration import Registration, topics_to_register
from rocketwire.server.name_server.routes import BrokerIdentity, RouteTable
from rocketwire.server.net.addresses import ip_address
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.hub import Hub, hub_kernel
from rocketwire.server.pop.keys import PopKeys
from rocketwire.server.pop.order.ordered_queues import OrderedQueues
from rocketwire.server.pop.pops import Pops
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.pop.reviving.recovery import move_offsets
from rocketwire.server.pop.reviving.resetting import OffsetResetter
from rocketwire.server.pull.answers import PullAnswers
from rocketwire.server.pull.kernel import KernelPulls
from rocketwire.server.pull.keys import LongPollKeys, TransferKeys
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.pull.offset_moved import OffsetMovedEvents
from rocketwire.server.pull.services import PullServices
from rocketwire.server.retry.send_back import SendBack
from rocketwire.server.send.checks import SendChecks
from rocketwire.server.send.drafts import SendDrafts
from rocketwire.server.send.kernel import KernelSends
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.send.preparing import SendPreparer
from rocketwire.server.send.replies import ReplyForwarder
from rocketwire.server.statistics.rates import Rates
from rocketwire.server.statistics.statistics import Statistics
from rocketwire.server.throttle.backlog import GroupBacklogs
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.timer.recall import Recall
from rocketwire.server.timer.sends import TimerSends
from rocketwire.server.timer.timer import Timer, warn_of_lost_messages
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.retry_topics import RetryTopics
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topic_limit import TopicLimit
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.check_permission import allow_every_producer
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.server.transactions.service import Transactions
from rocketwire.server.upstream.registration import RemoteRegistration
from rocketwire.server.upstream.routes import RemoteRoutes
from rocketwire.store.append.group_commit import GroupCommit, RunBlocking
from rocketwire.store.disk.files import RealFileSystem
from rocketwire.store.tables.consumer_filters import ConsumerFilterTable
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.pop.offset_resets import OffsetResetTable
from rocketwire.store.tables.pop.order_info import OrderInfoTable
from rocketwire.store.tables.request_modes import RequestModeTable
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire import names
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import VERSION_4_9_7
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.send_reply_frames import SendReplyFrames

_FILTERS_INTERVAL: Final = 10_000  # ms; Apache has no key for it
_METRICS_INTERVAL: Final = 10_000  # ms
_ORDER_INTERVAL: Final = 10_000  # ms
_RESETS_INTERVAL: Final = 10_000  # ms; as the next one
_REQUEST_MODES_INTERVAL: Final = 10_000  # ms; they are written when they are set, and only later if that failed


class Broker:
    """Opens the store and builds the services; `start` sets them going, `close` puts everything on the disk.

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
        self.clock = clock
        self._due_time = due_time or DueTime()
        self.metrics = metrics
        self.background = BackgroundBudget(metrics.requests.total)
        self.address = str(advertised)
        self._choose = choose
        self._run_sync = run_sync
        self._run_flush = run_flush
        self.config = live = LiveConfig(config, clock)
        # Before the store is touched: its file may be wrong.
        self.access = access_control(config, live, clock, metrics, owner_at=lambda offset: owner_at(self.store, offset))
        self.in_flight = InFlight(Limits(live[LimitKeys], metrics))
        # Records and message ids hold addresses, no names.
        self.store_host = encode_host(ip_address(advertised.host, option="--advertise, brokerIP1"), advertised.port)
        self.store = open_store(store_settings(config), clock, self.store_host)
        self._stopped = self.store.last_append_timestamp  # before anything is repaired
        self._open_tables(config)
        self.invalidation = CacheInvalidation()
        self.throttle = Throttle(live[ThrottleKeys], self.topics, metrics, region=config.broker.region_id)
        self.clients = ClientGroups(self.groups.notifies)
        self.statistics = self._statistics()
        self._make_storing(config)
        self.rates = Rates(metrics, clock, self._page_cache.times)
        self._make_pulls(config)
        self._make_waiting(config)
        self._make_pops(config)
        self._make_administration()
        self._all_routes = RemoteRoutes(config.name_servers, config.broker.broker_name, routes.queues)
        self.assignments = Assignments(
            self._request_modes,
            broker_name=config.broker.broker_name,
            clients=self.clients,
            groups=self.groups,
            keys=live[AssignmentKeys],
            routes=self._all_routes.queues,
            topics=self.topics,
        )
        self._backlog = GroupBacklogs(live[ThrottleKeys], self.offsets, self.groups.table, self.store, self.throttle)
        identity = BrokerIdentity(
            cluster=config.broker.broker_cluster_name,
            name=config.broker.broker_name,
            broker_id=config.broker.broker_id,
            address=self.address,
        )
        ha_address = str(Address(host=advertised.host, port=advertised.port + 1))
        self._registration = Registration(
            identity, ha_address=ha_address, routes=routes, topics=self.topics, broker_keys=live[BrokerKeys]
        )
        self.elsewhere = RemoteRegistration(
            config.name_servers,
            identity,
            ha_address=ha_address,
            topics=lambda changed: topics_to_register(self.topics, live[BrokerKeys].current, changed),
        )
        self._tell_of_changes()
        self.send_answers = SendReplyFrames(
            region=config.broker.region_id, trace_on=config.broker.trace_on, version=VERSION_4_9_7
        )
        self.kernel_sends = self._kernel_sends()

    def _open_tables(self, config: ServerConfig) -> None:
        folder = self.store.settings.root / "config"
        levels = self.store.delay_levels
        topics = TopicTable.open(folder / "topics.json", clock=self.clock)
        groups = GroupTable.open(folder / "subscriptionGroup.json", clock=self.clock)
        self.offsets = OffsetTable.open(folder / "consumerOffset.json", most=config.limits.max_offsets)
        finish_deletions(self.store.deleted_topics, topics, self.offsets)
        topic_keys, limit_keys = self.config[TopicKeys], self.config[LimitKeys]
        self.topics = BrokerTopics(topics, topic_keys, TopicLimit(topics, groups, limit_keys))
        self.topics.make_system_topics(config.broker, len(levels))
        warn_of_lost_levels(levels, config.retention.file_reserved_time)
        self.groups = SubscriptionGroups(groups, topic_keys, limit_keys)
        self.groups.make_built_in()
        self._delay_offsets = DelayOffsetTable.open(folder / "delayOffset.json")
        filter_table = ConsumerFilterTable.open(folder / "consumerFilter.json")
        self.filters = ConsumerFilters(filter_table, self.clock)
        self._request_modes = RequestModeTable.open(folder / "messageRequestMode.json")
        self._reset_table = OffsetResetTable.open(folder / "offsetResets.json")
        self._order_info = OrderInfoTable.open(folder / "consumerOrderInfo.json")
        self._tables: list[tuple[SavedTable, str, int]] = [
            (self.offsets, "consumer offsets", config.tables.flush_consumer_offset_interval),
            (self._delay_offsets, "delay offsets", config.tables.flush_delay_offset_interval),
            (filter_table, "consumer filters", _FILTERS_INTERVAL),
            (self._order_info, "pops in order", _ORDER_INTERVAL),
            (self._reset_table, "resets of offsets", _RESETS_INTERVAL),
            (self._request_modes, "message request modes", _REQUEST_MODES_INTERVAL),
        ]

    def _statistics(self) -> Statistics:
        topics, groups = self.topics.table, self.groups.table
        statistics = Statistics(
            self.metrics,
            arrivals=self.store.queues.take_counts,
            has_arrived=self._has_arrived,
            has_topic=lambda topic: topics.get(topic) is not None or topic in names.SEND_FORBIDDEN_TOPICS,
            has_group=lambda group: groups.get(group) is not None,
        )
        topics.changed.subscribe(statistics.forget_removed)
        groups.changed.subscribe(statistics.forget_removed)
        return statistics

    def _has_arrived(self, topic: str) -> bool:
        config = self.topics.get(topic)
        return self.store.queues.has_new_counts(topic, 1 if config is None else config.write_queue_nums)

    def _make_storing(self, config: ServerConfig) -> None:
        """Make what takes messages: storing, sends, messages given back."""
        live, topics = self.config, self.topics
        broker_keys, send_keys = live[BrokerKeys], live[SendKeys]
        flush = config.flush
        self._flush = GroupCommit(timeout=flush.sync_flush_timeout / 1000) if flush.sync_flush else None
        self._page_cache = PageCacheGuard(live[PageCacheKeys])
        self.storing = MessageWriter(self.store, flush=self._flush, metrics=self.metrics, page_cache=self._page_cache)
        retries = RetryTopics(self.groups, topics)
        timer_sends = TimerSends(live[TimerKeys], broker_keys, topics, self.clock)
        checks = SendChecks(send_keys, broker_keys, live[TransactionKeys], topics, choose=self._choose, retries=retries)
        levels = len(self.store.delay_levels)
        drafts = SendDrafts(send_keys, config.broker, topics, checks, timer_sends, delay_levels=levels)
        self.sending = SendPreparer(drafts, self.throttle)
        self.send_back = SendBack(
            broker_keys=broker_keys,
            store=self.store,
            retries=retries,
            choose=self._choose,
            invalidation=self.invalidation,
            counters=self.statistics.sent_back,
        )
        self.recall = Recall(live[TimerKeys], broker_keys, topics, timer_sends, self.clock)
        self.replies = ReplyForwarder(self.clients, self.clock, self.store_host)

    def _make_pulls(self, config: ServerConfig) -> None:
        live, broker_name = self.config, config.broker.broker_name
        moved = OffsetMovedEvents(self.store, broker_name=broker_name, store_host=self.store_host, clock=self.clock)
        self.pull_answers = PullAnswers(
            self.store,
            transfer_keys=live[TransferKeys],
            long_poll_keys=live[LongPollKeys],
            metrics=self.metrics,
            deliveries=self.statistics.delivered,
            offset_moved=moved,
            throttle=self.throttle,
        )
        self.long_poll = LongPoll(self.pull_answers, self.in_flight.limits, self.background)
        self.pulls = PullServices(
            broker_keys=live[BrokerKeys],
            clients=self.clients,
            deliveries=self.statistics.delivered,
            invalidation=self.invalidation,
            filters=self.filters,
            filter_keys=live[FilterKeys],
            groups=self.groups,
            limit_keys=live[LimitKeys],
            long_poll=self.long_poll,
            metrics=self.metrics,
            offsets=self.offsets,
            pull_answers=self.pull_answers,
            throttle=self.throttle,
            topics=self.topics,
        )

    def _make_waiting(self, config: ServerConfig) -> None:
        """Make what has messages wait: for a time, or for the outcome of a transaction."""
        store, clock, wake = self.store, self.clock, self.wake
        self.timer = timer = self._timer() if config.timer.timer_wheel_enable else None
        store.arrivals.subscribe(self.long_poll.arrived)
        if timer is not None:
            store.arrivals.subscribe(timer.arrived)
            warn_of_lost_messages(timer.lap_ms, config.retention.file_reserved_time)
            self._tables.append((timer.table, "timer metrics", _METRICS_INTERVAL))
        self.delays = DelayDelivery(
            store=store,
            table=self._delay_offsets,
            storing=self.storing,
            clock=clock,
            wake=wake,
            budget=self.background,
            sleep=self._due_time.sleep,
        )
        self.transactions = Transactions(
            store,
            self.offsets,
            keys=self.config[TransactionKeys],
            retention_keys=self.config[RetentionKeys],
            topics=self.topics,
            clients=self.clients,
            clock=clock,
            store_host=self.store_host,
            wake=wake,
            append=self.storing.append,
            due_time=self._due_time,
            budget=self.background,
            may_hear=allow_every_producer if self.access is None else self.access.may_receive_as_producer,
        )

    def _timer(self) -> Timer:
        return Timer(
            store=self.store,
            files=RealFileSystem(),
            storing=self.storing,
            clock=self.clock,
            wake=self.wake,
            run_sync=self._run_sync,
            topics=self.topics.table.configs,
            moved=self._due_time.moved,
            budget=self.background,
        )

    def _make_pops(self, config: ServerConfig) -> None:
        live = self.config
        self.renewals = Renewals(trio.current_time, self.clock, self._stopped)
        self.resets = OffsetResetter(
            self._reset_table,
            self.offsets,
            store=self.store,
            clock=self.clock,
            timer_keys=live[TimerKeys],
            wake=self.wake,
        )
        self._ordered = OrderedQueues(
            self._order_info,
            self.offsets,
            renewals=self.renewals,
            resets=self.resets,
            topics=self.topics,
            groups=self.groups,
            clock=self.clock,
            due_time=self._due_time,
        )
        self.pops = Pops(
            store=self.store,
            storing=self.storing,
            offsets=self.offsets,
            topics=self.topics,
            groups=self.groups,
            timer=self.timer,
            ordered=self._ordered,
            pop_keys=live[PopKeys],
            broker_keys=live[BrokerKeys],
            timer_keys=live[TimerKeys],
            transfer_keys=live[TransferKeys],
            filter_keys=live[FilterKeys],
            limit_keys=live[LimitKeys],
            limits=self.in_flight.limits,
            throttle=self.throttle,
            metrics=self.metrics,
            deliveries=self.statistics.delivered,
            clock=self.clock,
            due_time=self._due_time,
            choose=self._choose,
            wake=self.wake,
            store_host=self.store_host,
            renewals=self.renewals,
            indexed=config.store.message_index_enable,
            budget=self.background,
            resets=self.resets,
        )
        self._ordered.freed.subscribe(self.pops.queue_freed)
        self.store.arrivals.subscribe(self.pops.arrived)
        if not self.store.stopped_cleanly:
            interval = config.tables.flush_consumer_offset_interval
            revive_topic = self.pops.services.pop_topics.revive
            move_offsets(self.store, self.offsets, self.resets, revive_topic, stopped=self._stopped, interval=interval)

    def wake(self) -> None:
        """Serve the requests that wait for what arrived since the last call."""
        self.long_poll.wake()
        self.pops.wake()

    def _make_administration(self) -> None:
        timer = self.timer
        self.heartbeats = Heartbeats(
            limit_keys=self.config[LimitKeys],
            topic_keys=self.config[TopicKeys],
            topics=self.topics,
            groups=self.groups,
            clients=self.clients,
            filters=self.filters,
        )
        self.order_locks = OrderLocks()
        self.lifetime = FileRetention(
            self.store,
            self.config[RetentionKeys],
            self.clock,
            self._run_sync,
            lambda: timer is not None and timer.catching_up,
            self.background,
        )
        self.queue_removal = QueueRemoval(self.store.retention, self.background)
        self.topic_removal = TopicRemoval(
            self.store,
            retention=self.store.retention,
            deleted=self.store.deleted_topics,
            topics=self.topics,
            offsets=self.offsets,
            long_poll=self.long_poll,
            pops=self.pops,
            run_sync=self._run_sync,
            budget=self.background,
        )
        self.runtime_info = RuntimeInfo(
            store=self.store,
            clock=self.clock,
            metrics=self.metrics,
            rates=self.rates,
            append_times=self._page_cache.times,
            delays=self.delays,
            timer=TimerInfo(timer),
            disk=self._disk,
        )

    def _disk(self) -> Disk:
        retention = self.store.retention
        used, (total, free) = retention.disk_usage(), retention.disk_space()
        return Disk(
            folder=self.store.settings.commit_log,
            commit_log=used.commit_log,
            consume_queues=used.consume_queues,
            total=total,
            free=free,
        )

    def _tell_of_changes(self) -> None:
        invalidate = self.invalidation.invalidate
        self.topics.changed.subscribe(self._registration.register)
        self.topics.changed.subscribe(self.elsewhere.register)
        if self.access is not None:
            self.access.changed.subscribe(self.long_poll.end_all)
            self.access.changed.subscribe(self.pops.end_all)
        self.clients.emptied.subscribe(self.filters.unregister)
        self.clients.resubscribed.subscribe(self.invalidation.invalidate_subscriptions)
        self.filters.changed.subscribe(self.invalidation.invalidate_subscriptions)
        for changed in (
            self.config.changed,
            self.topics.table.changed,
            self.groups.table.changed,
            self.store.queues.on_queue_removed,
            self.throttle.invalidated,
        ):
            changed.subscribe(invalidate)
        for gone in (self.topics.table.changed, self.groups.table.changed):
            gone.subscribe(self._ordered.schedule_cleaning)
        self.invalidation.register(self.throttle.changed)

    def kernel_sends_of_calls(self) -> KernelSends | None:
        """Sends by the kernel that come in calls of 5.x clients, whose messages are of a type that the topic takes."""
        return self._kernel_sends(typed=True)

    def _kernel_sends(self, *, typed: bool = False) -> KernelSends | None:
        if native.kernel is None:
            return None
        return KernelSends(
            sending=self.sending,
            storing=self.storing,
            store=self.store,
            answers=self.send_answers,
            store_host=self.store_host,
            keys=self.config[SendKeys],
            metrics=self.metrics,
            page_cache=self._page_cache,
            flush=self._flush,
            invalidation=self.invalidation,
            typed=typed,
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
            settle=self.wake,
            sends=self.kernel_sends,
            pulls=KernelPulls(kernel, self.pulls, self.store),
            single_turns=self._others_are_due,
            in_flight=self.in_flight,
            guarded=guarded,
        )

    def _others_are_due(self) -> bool:
        """Whether other tasks have to do what clients wait for: a flush is to begin, or its end to be told."""
        return self._page_cache.is_busy or (self._flush is not None and self._flush.has_waiters)

    def time_flushes(self, note: Callable[[float], None]) -> None:
        """Have told how many seconds each flush takes that somebody waits for."""
        if self._flush is not None:
            self._flush.flushed.subscribe(note)

    def start(self, nursery: trio.Nursery) -> None:
        """Register with the name server and start the recurring work in `nursery`."""
        self._registration.register()
        nursery.start_soon(self._registration.run)
        nursery.start_soon(self.elsewhere.run)
        nursery.start_soon(self._all_routes.run)
        nursery.start_soon(self.in_flight.run)
        nursery.start_soon(self.clients.run, self.background)
        nursery.start_soon(self.order_locks.run, self.background)
        nursery.start_soon(self.filters.run)
        nursery.start_soon(self.long_poll.run)
        self.pops.start(nursery)
        nursery.start_soon(self._ordered.run, self.background)
        nursery.start_soon(self.statistics.run)
        nursery.start_soon(self.rates.run)
        nursery.start_soon(self._backlog.run)
        nursery.start_soon(self.delays.run)
        if self.timer is not None:
            nursery.start_soon(self.timer.run)
        if self.access is not None:
            nursery.start_soon(self.access.run, self._run_sync)
        nursery.start_soon(self.transactions.run)
        tables: list[RewritableTable] = [self.topics.table, self.groups.table]
        tables += [table for table, _, _ in self._tables]
        nursery.start_soon(MissingFilesWatch(self.store, tables, self._run_sync).run)
        nursery.start_soon(self.lifetime.watch_disk)
        nursery.start_soon(self.lifetime.clean)
        nursery.start_soon(self.queue_removal.run)
        nursery.start_soon(self.topic_removal.run)
        nursery.start_soon(upkeep.flush, self.store, self.config[FlushKeys], self._run_sync)
        nursery.start_soon(upkeep.index, self.store, self._run_sync, self.background)
        for table, what, interval in self._tables:
            before = self.store if table is self.offsets else None
            nursery.start_soon(upkeep.persist, table, what, interval, self._run_sync, self.background, before)
        for growing, what in ((self.topics.table, "topics"), (self.groups.table, "groups")):
            nursery.start_soon(upkeep.save, growing, what, self._run_sync)
        if self._flush is not None:
            nursery.start_soon(self._flush.run, self.store, self._run_flush)

    def peer_closed(self, peer: Peer) -> None:
        """Forget what a closed connection had."""
        self.clients.peer_closed(peer)
        self.long_poll.peer_closed(peer)
        self.pops.peer_closed(peer)

    def close(self) -> None:
        """Write everything to the disk and release the store."""
        self._registration.unregister()
        with contextlib.ExitStack() as stack:  # each is tried, whatever becomes of the others
            stack.callback(self.store.close)
            for table, _, _ in self._tables:
                stack.callback(table.close)
            stack.callback(self.groups.table.finish)
            stack.callback(self.topics.table.finish)
            if self.timer is not None:
                stack.callback(self.timer.close)
            stack.callback(self.delays.close)
