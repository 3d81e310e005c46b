"""Shared by the tests of sends: the parts of a broker that serve them, over a store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.errors import response_code
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.messages.keys import PageCacheKeys
from rocketwire.server.messages.message_writer import MessageWriter, Refusals
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
from rocketwire.store.append.drafts import AppendResult
from rocketwire.store.event import Event
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.hosts import encode_host
from tests.server.harness import Clock, send_ext, small_config

HOST = encode_host("10.0.0.1", 5)


class FakeFlush:
    """A group commit whose disk answers when the test says so."""

    is_full = False

    def __init__(self) -> None:
        self.waiting: list[tuple[int, Any]] = []
        self.on_answered = Event[[]]()

    def wait_durable(self, offset: int, callback: Any, *, keeps: int) -> None:
        assert keeps > 0
        self.waiting.append((offset, callback))


class Setup:
    def __init__(self, folder: Path, **changes: Any) -> None:
        self.clock = clock = Clock()
        self.live = LiveConfig(small_config(folder, **changes), clock)
        self.topics = BrokerTopics(TopicTable.open(folder / "topics.json", clock=clock), self.live[TopicKeys])
        self.topics.make_system_topics(self.live.current.broker, 18)
        self.topics.put(TopicConfig(topic_name="T", read_queue_nums=2, write_queue_nums=2))
        self.groups = SubscriptionGroups(
            GroupTable.open(folder / "groups.json", clock=clock), self.live[TopicKeys], self.live[LimitKeys]
        )
        settings = StoreSettings(root=folder / "store", commit_log_file_size=1 << 20, consume_queue_file_size=2000)
        self.store = MessageStore.open(settings, clock=clock, store_host=encode_host("127.0.0.1", 1))
        self.metrics = Metrics()
        self.flush: Any = FakeFlush()
        self.now = 0.0
        self.throttle = Throttle(self.live[ThrottleKeys], self.topics, self.metrics, now=lambda: self.now)
        self.live.changed.subscribe(self.throttle.changed)
        self.throttle.invalidated.subscribe(self.throttle.changed)
        self.storing = self.made(flush=None)
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
                    retries=RetryTopics(self.groups, self.topics),
                ),
                TimerSends(self.live[TimerKeys], self.live[BrokerKeys], self.topics, self.clock),
                delay_levels=len(self.store.settings.delay_levels),
            ),
            self.throttle,
        )
        self.outcomes: list[tuple[int, ResponseCode]] = []
        self.refused: dict[int, str] = {}
        self.refusal_codes: set[ResponseCode] = set()

    def made(self, *, flush: Any) -> MessageWriter:
        return MessageWriter(
            self.store,
            flush=flush,
            metrics=self.metrics,
            page_cache=PageCacheGuard(self.live[PageCacheKeys], now=lambda: 0.0),
        )

    def outcome(self, appended: Sequence[AppendResult], code: ResponseCode, refused: Refusals) -> None:
        self.outcomes.append((len(appended) - len(refused), code))
        self.refused = {at: str(error) for at, error in refused.items()}
        self.refusal_codes = {response_code(error) for error in refused.values()}


def fields(topic: str = "T", **changes: Any) -> SendMessageRequestHeader:
    return decode_ext(SendMessageRequestHeader, send_ext(topic, **changes), short=True)


def body(data: bytes = b"body") -> memoryview:
    return memoryview(data)
