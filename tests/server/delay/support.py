"""A store with delayed messages, and what delivers them, without a server around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.delay.delivery import DelayDelivery
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.messages.keys import PageCacheKeys
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.messages.page_cache import PageCacheGuard
from rocketwire.server.send.checks import SendChecks
from rocketwire.server.send.drafts import SendDrafts
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.send.preparing import SendPreparer
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
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.hosts import encode_host
from tests.server.busy_loop import BusyLoop
from tests.server.harness import NOW, Clock, properties_text, send_ext, small_config
from tests.store.support import bodies, kill

SCHEDULE = "SCHEDULE_TOPIC_XXXX"
HOST = encode_host("10.0.0.1", 5)
LEVELS = (1_000, 5_000, 60_000)


class Delays:
    """An open store, and the delivery that runs when it is told to."""

    def __init__(
        self,
        folder: Path,
        *,
        clock: Clock | None = None,
        files: FileSystem | None = None,
        levels: tuple[int, ...] = LEVELS,
        **settings: Any,
    ) -> None:
        self.clock = clock or Clock()
        self.live = LiveConfig(small_config(folder), self.clock)
        self.topics = BrokerTopics(TopicTable.open(folder / "topics.json", clock=self.clock), self.live[TopicKeys])
        self.topics.make_system_topics(self.live.current.broker, len(levels))
        values: dict[str, Any] = {
            "commit_log_file_size": 1 << 16,
            "consume_queue_file_size": 20 * 64,
            "index_slots": 200,
            "index_entries": 1000,
            **settings,
        }
        self.settings = StoreSettings(root=folder / "store", delay_levels=levels, **values)
        self.store = MessageStore.open(
            self.settings, clock=self.clock, store_host=encode_host("127.0.0.1", 1), files=files
        )
        self.table = DelayOffsetTable.open(folder / "store" / "config" / "delayOffset.json", files)
        groups = SubscriptionGroups(
            GroupTable.open(folder / "groups.json", clock=self.clock), self.live[TopicKeys], self.live[LimitKeys]
        )
        self.page_cache = PageCacheGuard(self.live[PageCacheKeys], now=lambda: 0.0)
        self.storing = MessageWriter(self.store, flush=None, metrics=Metrics(), page_cache=self.page_cache)
        self.sending = SendPreparer(
            SendDrafts(
                self.live[SendKeys],
                self.live.current.broker,
                self.topics,
                SendChecks(
                    self.live[SendKeys],
                    self.live[BrokerKeys],
                    self.live[TransactionKeys],
                    self.topics,
                    choose=lambda bound: bound - 1,
                    retries=RetryTopics(groups, self.topics),
                ),
                TimerSends(self.live[TimerKeys], self.live[BrokerKeys], self.topics, self.clock),
                delay_levels=len(self.store.settings.delay_levels),
            ),
            Throttle(self.live[ThrottleKeys], self.topics, Metrics()),
        )
        self.woken = 0
        self.loop = BusyLoop(tick=0.000_01)
        self.delivery = DelayDelivery(
            store=self.store,
            table=self.table,
            storing=self.storing,
            clock=self.clock,
            wake=self._wake,
            budget=self.loop.budget,
        )

    def _wake(self) -> None:
        self.woken += 1

    def send(self, body: bytes, level: int, topic: str = "T", **changes: Any) -> None:
        """Store a message to be delivered to queue 0 of a topic."""
        text = properties_text(UNIQ_KEY=f"U{body[:10].decode()}", DELAY=str(level))
        ext = send_ext(topic, properties=changes.pop("properties", text), **{"born_timestamp": NOW, **changes})
        fields = decode_ext(SendMessageRequestHeader, ext, short=True)
        drafts = self.sending.drafts.message(fields, memoryview(body), HOST, "peer").drafts
        assert self.store.append(drafts), self.store.append_error

    def pass_time(self, ms: int) -> None:
        """Turn the clock on and deliver what is due then."""
        self.clock.now += ms
        self.deliver()

    def deliver(self) -> None:
        """Deliver what is due, all of it."""
        self.settle()
        while not self.delivery.deliver():
            pass

    def settle(self) -> None:
        """Find out what was delivered before the start."""
        for _ in self.delivery._settling:
            pass

    def delivered(self, topic: str = "T") -> list[bytes]:
        """Bodies of all messages of a topic's queue 0."""
        return bodies(self.store, topic)

    def persist(self) -> None:
        """Write the offsets down, as it is done every ten seconds."""
        self.delivery._progress.save()
        self.table.persist()

    def kill(self) -> None:
        """Stop as a killed process does."""
        kill(self.store)

    def stop(self) -> None:
        """Stop as a broker does."""
        self.delivery.close()
        self.table.persist()
        self.store.close()
