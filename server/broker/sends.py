"""The services that store messages at one broker: sends, messages sent back, recalls and replies."""

from __future__ import annotations

from collections.abc import Callable

import trio

from rocketwire import native
from rocketwire.server.broker.foundation import Foundation
from rocketwire.server.broker.tables import BrokerTables
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.messages.keys import PageCacheKeys
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.messages.page_cache import PageCacheGuard
from rocketwire.server.retry.send_back import SendBack
from rocketwire.server.send.checks import SendChecks
from rocketwire.server.send.drafts import SendDrafts, SendPreparer
from rocketwire.server.send.kernel import KernelSends
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.send.replies import ReplyForwarder
from rocketwire.server.statistics.statistics import Statistics
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.timer.recall import Recall
from rocketwire.server.timer.sends import TimerSends
from rocketwire.server.topics.retry_topics import RetryTopics
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.store.append.group_commit import GroupCommit, RunBlocking
from rocketwire.wire.facts.codes import VERSION_4_9_7
from rocketwire.wire.send_reply_frames import SendReplyFrames


class BrokerSends:
    """The services that store what clients send.

    Attributes:
        flush: The group commit of SYNC_FLUSH; None under ASYNC_FLUSH.
        page_cache: Refuses sends while appends take long.
        storing: Stores messages.
        sending: Carries out sends.
        send_back: Stores messages that consumers send back.
        recall: Cancels timer messages.
        replies: Forwards replies to the producers of the requests.
        answers: Encodes the answers to sends.
        kernel: The kernel's path of sends; None: Python serves them.
    """

    def __init__(
        self, base: Foundation, tables: BrokerTables, throttle: Throttle, clients: ClientGroups, statistics: Statistics
    ) -> None:
        self._base = base
        live, config, topics = base.config, base.started, tables.topics
        broker_keys, send_keys = live[BrokerKeys], live[SendKeys]
        keys = config.flush
        self.flush = GroupCommit(timeout=keys.sync_flush_timeout / 1000) if keys.sync_flush else None
        self.page_cache = PageCacheGuard(live[PageCacheKeys])
        self.storing = MessageWriter(base.store, flush=self.flush, metrics=base.metrics, page_cache=self.page_cache)
        retries = RetryTopics(tables.groups, topics)
        timer_sends = TimerSends(live[TimerKeys], broker_keys, topics, base.clock)
        checks = SendChecks(send_keys, broker_keys, live[TransactionKeys], topics, choose=base.choose, retries=retries)
        levels = len(base.store.delay_levels)
        drafts = SendDrafts(send_keys, config.broker, topics, checks, timer_sends, delay_levels=levels)
        self.sending = SendPreparer(drafts, throttle)
        self.send_back = SendBack(
            broker_keys=broker_keys,
            store=base.store,
            retries=retries,
            choose=base.choose,
            invalidation=base.invalidation,
            counters=statistics.sent_back,
        )
        self.recall = Recall(live[TimerKeys], broker_keys, topics, timer_sends, base.clock)
        self.replies = ReplyForwarder(clients, base.clock, base.store_host)
        self.answers = SendReplyFrames(
            region=config.broker.region_id, trace_on=config.broker.trace_on, version=VERSION_4_9_7
        )
        self.kernel = self._kernel(typed=False)

    def kernel_for_calls(self) -> KernelSends | None:
        """Sends by the kernel that come in calls of 5.x clients, whose messages are of a type that the topic takes."""
        return self._kernel(typed=True)

    def _kernel(self, *, typed: bool) -> KernelSends | None:
        if native.kernel is None:
            return None
        base = self._base
        return KernelSends(
            sending=self.sending,
            storing=self.storing,
            store=base.store,
            answers=self.answers,
            store_host=base.store_host,
            keys=base.config[SendKeys],
            metrics=base.metrics,
            page_cache=self.page_cache,
            flush=self.flush,
            invalidation=base.invalidation,
            send_back=None if typed else self.send_back,
            typed=typed,
        )

    @property
    def others_are_due(self) -> bool:
        """Whether other tasks have to do what clients wait for: to begin a flush, or to answer after one."""
        return self.page_cache.is_busy or (self.flush is not None and self.flush.has_waiters)

    def time_flushes(self, note: Callable[[float], None]) -> None:
        """Call `note` with the seconds of each flush that a request waits for."""
        if self.flush is not None:
            self.flush.flushed.subscribe(note)

    def start(self, nursery: trio.Nursery, run_flush: RunBlocking) -> None:
        """Start the flushes that clients wait for."""
        if self.flush is not None:
            nursery.start_soon(self.flush.run, self._base.store, run_flush)
