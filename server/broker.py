"""One broker: its store and services, put together and kept running."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
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
from rocketwire.server.core.clock import Clock
from rocketwire.server.core.decisions import Decisions
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
from rocketwire.server.retry.hot_send_backs import HotSendBacks
from rocketwire.server.retry.send_back import SendBack
from rocketwire.server.send.checks import SendChecks
from rocketwire.server.send.drafts import SendDrafts
from rocketwire.server.send.hot_sends import HotSends
from rocketwire.server.send.kernel import KernelSends
from rocketwire.server.send.replies import Replies
from rocketwire.server.send.sending import Sending
from rocketwire.server.services import BrokerServices
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

Arrivals = Callable[[list[tuple[str, int]]], None]

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
        self._clock = clock
        self._run_sync = run_sync
        self._run_flush = run_flush
        live = LiveConfig(config, clock)
        self.in_flight = InFlight(Limits(lambda: live.current, metrics))
        settings = store_settings(config)
        # Records and message ids hold addresses, no names.
        store_host = encode_host(ip_address(advertised.host, option="--advertise, brokerIP1"), advertised.port)
        store = opened_store(settings, clock, store_host)
        self._store = store
        self._flush = GroupCommit(timeout=config.sync_flush_timeout / 1000) if config.sync_flush else None
        config_dir = settings.root / "config"
        topics, groups = _topics_and_groups(config_dir, live, clock)
        topics.make_system_topics(len(settings.delay_levels))
        warn_of_lost_levels(settings.delay_levels, config.file_reserved_time)
        groups.make_built_in()
        delay_offsets = DelayOffsetTable.open(config_dir / "delayOffset.json")
        filter_table = ConsumerFilterTable.open(config_dir / "consumerFilter.json")
        filters = ConsumerFilters(filter_table, clock)
        retries = RetryTopics(groups, topics)
        timer_sends = TimerSends(live, topics, clock)
        throttle = Throttle(live, topics, metrics)
        self._page_cache = PageCacheGuard(live)
        storing = Storing(store, flush=self._flush, metrics=metrics, page_cache=self._page_cache)
        sending = Sending(
            SendDrafts(
                live,
                topics,
                SendChecks(live, topics, choose=choose, retries=retries),
                timer_sends,
                delay_levels=len(store.settings.delay_levels),
            ),
            throttle,
        )
        consume_rates = ConsumeRates()
        offset_moved = OffsetMoved(store, broker_name=config.broker_name, store_host=store_host, clock=clock)
        pull_answers = PullAnswers(
            store,
            live,
            metrics=metrics,
            consume_rates=consume_rates,
            offset_moved=offset_moved,
            throttle=throttle,
        )
        long_poll = LongPoll(pull_answers, self.in_flight.limits)
        timer = (
            Timer(
                store=store,
                files=RealFileSystem(),
                storing=storing,
                clock=clock,
                wake=long_poll.wake,
                run_sync=run_sync,
                topics=topics.table.configs,
            )
            if config.timer_wheel_enable
            else None
        )
        if timer is not None:
            warn_of_lost_messages(timer.lap_ms, config.file_reserved_time)
        store.arrivals = long_poll.arrived if timer is None else both(long_poll.arrived, timer.arrived)
        self.delays = DelayDelivery(store=store, table=delay_offsets, storing=storing, clock=clock, wake=long_poll.wake)
        answers = SendAnswers(region=config.region_id, trace_on=config.trace_on, version=VERSION_4_9_7)
        send_back = SendBack(config=live, store=store, storing=storing, retries=retries, choose=choose)
        clients = ClientGroups(groups.notifies)
        clients.emptied = filters.unregister
        offsets = OffsetTable.open(config_dir / "consumerOffset.json", most=config.max_offsets)
        transactions = Transactions(
            store,
            offsets,
            config=live,
            topics=topics,
            clients=clients,
            clock=clock,
            store_host=store_host,
            wake=long_poll.wake,
            append=storing.append,
            may_hear=everybody if access is None else access.may_hear,
        )
        done = DoneAnswers(version=VERSION_4_9_7)
        others = HotPaths(
            {
                RequestCode.CONSUMER_SEND_MSG_BACK: HotSendBacks(send_back, storing, done, metrics),
                RequestCode.END_TRANSACTION: HotEnds(transactions, storing, done, metrics),
            }
        )
        self.hot_sends = HotSends(sending, storing, answers, store_host, metrics, otherwise=others)
        self.services = BrokerServices(
            config=live,
            clock=clock,
            store=store,
            address=str(advertised),
            store_host=store_host,
            topics=topics,
            groups=groups,
            clients=clients,
            heartbeats=Heartbeats(config=live, topics=topics, groups=groups, clients=clients, filters=filters),
            filters=filters,
            offsets=offsets,
            long_poll=long_poll,
            pull_answers=pull_answers,
            order_locks=OrderLocks(),
            sending=sending,
            storing=storing,
            send_back=send_back,
            recall=Recall(live, topics, timer_sends, clock),
            replies=Replies(clients, clock, store_host),
            transactions=transactions,
            metrics=metrics,
            lifetime=Lifetime(store, live, clock, run_sync, lambda: timer is not None and timer.catching_up),
            queue_removal=QueueRemoval(store.retention),
            consume_rates=consume_rates,
            offset_moved=offset_moved,
            decisions=Decisions(),
            throttle=throttle,
            timer=timer,
            access=access,
            runtime_info=RuntimeInfo(store, timer),
        )
        self._backlog = Backlog(live, offsets, groups.table, store, throttle)
        self._tell_of_changes()
        self.kernel_sends = self._kernel_sends(answers)
        timer_table = () if timer is None else ((timer.table, "timer metrics", _METRICS_INTERVAL),)
        self._tables: tuple[tuple[SavedTable, str, int], ...] = (
            (self.services.offsets, "consumer offsets", config.flush_consumer_offset_interval),
            (delay_offsets, "delay offsets", config.flush_delay_offset_interval),
            *timer_table,
            (filter_table, "consumer filters", _FILTERS_INTERVAL),
        )
        self._registration = Registration(
            BrokerIdentity(
                cluster=config.broker_cluster_name,
                name=config.broker_name,
                broker_id=config.broker_id,
                address=str(advertised),
            ),
            ha_address=str(Address(host=advertised.host, port=advertised.port + 1)),
            routes=routes,
            topics=topics,
            config=live,
        )
        topics.changed = self._registration.register

    def _tell_of_changes(self) -> None:
        services = self.services
        changed = services.decisions.changed
        services.config.changed = changed
        services.topics.table.changed = changed
        services.groups.table.changed = changed
        services.clients.resubscribed = services.decisions.resubscribed
        services.filters.changed = services.decisions.resubscribed
        services.store.queues.removed = changed
        services.throttle.forgets = changed
        services.decisions.watch(services.throttle.changed)

    def _kernel_sends(self, answers: SendAnswers) -> KernelSends | None:
        services = self.services
        if native.kernel is None:
            return None
        return KernelSends(
            sending=services.sending,
            storing=services.storing,
            store=services.store,
            answers=answers,
            store_host=services.store_host,
            config=services.config,
            metrics=services.metrics,
            page_cache=self._page_cache,
            flush=self._flush,
            decisions=services.decisions,
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
            clock=self._clock,
            settle=self.services.long_poll.wake,
            sends=self.kernel_sends,
            pulls=KernelPulls(kernel, self.services),
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
            self._flush.flushed = note

    def start(self, nursery: trio.Nursery) -> None:
        """Register with the name server and start the recurring work in `nursery`."""
        services = self.services
        self._registration.register()
        nursery.start_soon(self._registration.run)
        nursery.start_soon(self.in_flight.run)
        nursery.start_soon(services.clients.run)
        nursery.start_soon(services.order_locks.run)
        nursery.start_soon(services.filters.run)
        nursery.start_soon(services.long_poll.run)
        nursery.start_soon(services.consume_rates.run)
        nursery.start_soon(self._backlog.run)
        nursery.start_soon(self.delays.run)
        if services.timer is not None:
            nursery.start_soon(services.timer.run)
        if services.access is not None:
            nursery.start_soon(services.access.run, self._run_sync)
        nursery.start_soon(services.transactions.run)
        tables: list[Rewritable] = [services.topics.table, services.groups.table]
        tables += [table for table, _, _ in self._tables]
        nursery.start_soon(FilesWatch(self._store, tables, self._run_sync).run)
        nursery.start_soon(services.lifetime.watch_disk)
        nursery.start_soon(services.lifetime.clean)
        nursery.start_soon(services.queue_removal.run)
        nursery.start_soon(upkeep.flush, self._store, services.config, self._run_sync)
        nursery.start_soon(upkeep.index, self._store, self._run_sync)
        for table, what, interval in self._tables:
            nursery.start_soon(upkeep.persist, table, what, interval, self._run_sync)
        for growing, what in ((services.topics.table, "topics"), (services.groups.table, "groups")):
            nursery.start_soon(upkeep.save, growing, what, self._run_sync)
        if self._flush is not None:
            nursery.start_soon(self._flush.run, self._store, self._run_flush)

    def peer_closed(self, peer: Peer) -> None:
        """Forget what a closed connection had."""
        self.services.clients.peer_closed(peer)
        self.services.long_poll.peer_closed(peer)

    def close(self) -> None:
        """Write everything to the disk and release the store."""
        self._registration.unregister()
        with contextlib.ExitStack() as stack:  # each is tried, whatever becomes of the others
            stack.callback(self._store.close)
            for table, _, _ in self._tables:
                stack.callback(table.persist)
            stack.callback(self.services.groups.table.finish)
            stack.callback(self.services.topics.table.finish)
            if self.services.timer is not None:
                stack.callback(self.services.timer.close)
            stack.callback(self.delays.close)


def _topics_and_groups(folder: Path, live: LiveConfig, clock: Clock) -> tuple[BrokerTopics, SubscriptionGroups]:
    topics = TopicTable.open(folder / "topics.json", clock=clock)
    groups = GroupTable.open(folder / "subscriptionGroup.json", clock=clock)
    return BrokerTopics(topics, live, TopicRoom(topics, groups, live)), SubscriptionGroups(groups, live)


def both(first: Arrivals, second: Arrivals) -> Arrivals:
    """Tell two of the queues that got messages."""

    def arrived(queues: list[tuple[str, int]]) -> None:
        first(queues)
        second(queues)

    return arrived
