"""An open store of a broker, and the services that store sends in it, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.messages.keys import PageCacheKeys
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.messages.page_cache import PageCacheGuard
from rocketwire.server.send.checks import SendChecks
from rocketwire.server.send.drafts import SendDrafts, SendPreparer
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.timer.sends import TimerSends
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.retry_topics import RetryTopics
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.hosts import encode_host
from tests.server.busy_loop import BusyLoop
from tests.server.harness import Clock, small_config
from tests.store.support import bodies, kill

SIZES: dict[str, Any] = {"index_slots": 200, "index_entries": 1000}


class StoreRoom:
    """The store of a folder, with small files, and the services that store sends."""

    def open_store(self, folder: Path, clock: Clock, files: FileSystem | None, **settings: Any) -> None:
        """Open the store, as a new process does."""
        self.clock = clock
        self.live = live = LiveConfig(small_config(folder), clock)
        self.topics = topics = BrokerTopics(TopicTable.open(folder / "topics.json", clock=clock), live[TopicKeys])
        self.settings = StoreSettings(root=folder / "store", **(SIZES | settings))
        host = encode_host("127.0.0.1", 1)
        self.store = MessageStore.open(self.settings, clock=clock, store_host=host, files=files)
        self.groups = SubscriptionGroups(
            GroupTable.open(folder / "groups.json", clock=clock), live[TopicKeys], live[LimitKeys]
        )
        self.page_cache = PageCacheGuard(live[PageCacheKeys], now=lambda: 0.0)
        checks = SendChecks(
            live[SendKeys],
            live[BrokerKeys],
            live[TransactionKeys],
            topics,
            choose=lambda bound: bound - 1,
            retries=RetryTopics(self.groups, topics),
        )
        self.storing = MessageWriter(self.store, flush=None, metrics=Metrics(), page_cache=self.page_cache)
        timer_sends = TimerSends(live[TimerKeys], live[BrokerKeys], topics, clock)
        levels = len(self.settings.delay_levels)
        self.sending = SendPreparer(
            SendDrafts(live[SendKeys], live.current.broker, topics, checks, timer_sends, delay_levels=levels),
            Throttle(live[ThrottleKeys], topics, Metrics()),
        )
        self.woken = 0
        self.loop = BusyLoop(tick=0.000_01)

    def _wake(self) -> None:
        self.woken += 1

    def delivered(self, topic: str = "T") -> list[bytes]:
        """Bodies of all messages of a topic's queue 0."""
        return bodies(self.store, topic)

    def kill(self) -> None:
        """Stop as a killed process does."""
        kill(self.store)
