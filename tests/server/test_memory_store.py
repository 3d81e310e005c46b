"""Handlers and services over a store that is no `MessageStore`: they use only what `store.protocol` declares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.append import Append
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Family
from rocketwire.server.delay.delivery import DelayDelivery
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.maintenance.keys import RetentionKeys
from rocketwire.server.messages.keys import PageCacheKeys
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.messages.page_cache import PageCacheGuard
from rocketwire.server.offsets import handlers as offset
from rocketwire.server.pull import handlers as pull
from rocketwire.server.pull.answers import PullAnswers
from rocketwire.server.pull.keys import LongPollKeys, TransferKeys
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.pull.offset_moved import OffsetMovedEvents
from rocketwire.server.pull.services import PullServices
from rocketwire.server.query import handlers as query
from rocketwire.server.query.keys import QueryKeys
from rocketwire.server.retry import handlers as send_back
from rocketwire.server.retry.send_back import SendBack
from rocketwire.server.send import handlers as send
from rocketwire.server.send.checks import SendChecks
from rocketwire.server.send.drafts import SendDrafts, SendPreparer
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.statistics.counters import Counters
from rocketwire.server.statistics.statistics import GroupTopic
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.timer.sends import TimerSends
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.retry_topics import RetryTopics
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions import handlers as transaction
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.server.transactions.service import Transactions
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.consumer_filters import ConsumerFilterTable
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import RequestCode, ResponseCode, SysFlag
from rocketwire.wire.header import Header
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.offset import GetMaxOffsetResponseHeader, GetMinOffsetResponseHeader
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.send_reply_frames import SendReplyFrames
from tests.server.harness import (
    Clock,
    FakePeer,
    properties_text,
    pull_ext,
    records,
    send_ext,
    small_config,
    stored_reply,
)
from tests.server.memory_store import MemoryStore
from tests.server.transactions.test_handlers import end_ext

HOST = encode_host("127.0.0.1", 10911)


class Rig:
    """Families of a broker over a store in memory."""

    def __init__(self, folder: Path) -> None:
        self.clock = clock = Clock()
        live = LiveConfig(small_config(folder), clock)
        metrics = Metrics()
        topic_table, group_table = (
            TopicTable.open(folder / "topics.json", clock=clock),
            GroupTable.open(folder / "groups.json", clock=clock),
        )
        topics, groups = (
            BrokerTopics(topic_table, live[TopicKeys]),
            SubscriptionGroups(group_table, live[TopicKeys], live[LimitKeys]),
        )
        topics.make_system_topics(live.current.broker, 18)
        topics.put(TopicConfig(topic_name="T", read_queue_nums=1, write_queue_nums=1))
        store: StoreProtocol = MemoryStore(clock, [1000, 5000, 10_000])
        self.store = store
        throttle = Throttle(live[ThrottleKeys], topics, metrics)
        self._storing = storing = MessageWriter(
            store, flush=None, metrics=metrics, page_cache=PageCacheGuard(live[PageCacheKeys], now=lambda: 0.0)
        )
        retries = RetryTopics(groups, topics)
        checks = SendChecks(
            live[SendKeys], live[BrokerKeys], live[TransactionKeys], topics, choose=lambda _: 0, retries=retries
        )
        drafts = SendDrafts(
            live[SendKeys],
            live.current.broker,
            topics,
            checks,
            TimerSends(live[TimerKeys], live[BrokerKeys], topics, clock),
            delay_levels=3,
        )
        offsets = OffsetTable.open(folder / "offsets.json")
        deliveries: Counters[GroupTopic] = Counters()
        clients = ClientGroups(lambda _: False)
        answers = PullAnswers(
            store,
            transfer_keys=live[TransferKeys],
            long_poll_keys=live[LongPollKeys],
            metrics=metrics,
            deliveries=deliveries,
            offset_moved=OffsetMovedEvents(store, broker_name="b", store_host=HOST, clock=clock),
            throttle=throttle,
        )
        pulls = PullServices(
            broker_keys=live[BrokerKeys],
            clients=clients,
            deliveries=deliveries,
            invalidation=CacheInvalidation(),
            filters=ConsumerFilters(ConsumerFilterTable.open(folder / "filters.json"), clock),
            filter_keys=live[FilterKeys],
            groups=groups,
            limit_keys=live[LimitKeys],
            long_poll=LongPoll(answers, Limits(live[LimitKeys], metrics), BackgroundBudget()),
            metrics=metrics,
            offsets=offsets,
            pull_answers=answers,
            throttle=throttle,
            topics=topics,
        )
        self.transactions = transactions = Transactions(
            store,
            offsets,
            keys=live[TransactionKeys],
            retention_keys=live[RetentionKeys],
            topics=topics,
            clients=clients,
            clock=clock,
            store_host=HOST,
            wake=lambda: None,
            append=storing.append,
            due_time=DueTime(),
            budget=BackgroundBudget(),
        )
        self.delays = DelayDelivery(
            store=store,
            table=DelayOffsetTable.open(folder / "delays.json"),
            storing=storing,
            clock=clock,
            wake=lambda: None,
            budget=BackgroundBudget(),
        )
        families: list[Family] = [
            send.family(
                send.SendServices(
                    sending=SendPreparer(drafts, throttle),
                    answers=SendReplyFrames(region="r", trace_on=True, version=407),
                    store_host=HOST,
                )
            ),
            pull.family(pulls),
            offset.family(offset.OffsetServices(offsets=offsets, store=store)),
            query.family(query.QueryServices(access=None, keys=live[QueryKeys], store=store)),
            send_back.family(
                SendBack(
                    broker_keys=live[BrokerKeys],
                    store=store,
                    retries=retries,
                    choose=lambda _: 0,
                    invalidation=CacheInvalidation(),
                    counters=Counters(),
                )
            ),
            transaction.family(transactions.ending),
        ]
        self._routes = {route.code: (route, family.services) for family in families for route in family.routes}

    def request(self, code: RequestCode, ext: dict[str, str], body: bytes = b"") -> Reply:
        """The immediate answer of a handler."""
        route, services = self._routes[code]
        assert route.header is not None
        request: Request[Any] = Request(
            peer=FakePeer(),
            header=Header(code=code, opaque=1, version=407),
            serialize_type=0,
            body=memoryview(body),
            fields=decode_ext(route.header, ext, short=route.short),
        )
        made = route.handler(services, request)
        reply = stored_reply(self._storing, made) if isinstance(made, Append) else made
        assert isinstance(reply, Reply)
        return reply

    def send(self, body: bytes, **values: Any) -> dict[str, str]:
        reply = self.request(RequestCode.SEND_MESSAGE_V2, send_ext("T", **values), body)
        assert reply.code == ResponseCode.SUCCESS, reply.remark
        return reply.header(1).ext or {}

    def pull(self, topic: str = "T", **values: Any) -> list[bytes]:
        """The bodies that a pull finds."""
        reply = self.request(RequestCode.PULL_MESSAGE, pull_ext(topic, sys_flag=4, **values))
        return [message.body for message in records(b"".join(reply.body))]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_sends_are_pulled_queried_and_counted(rig: Rig) -> None:
    places = [rig.send(b"%d" % number, keys=f"k{number}", tags="ab"[number % 2]) for number in range(4)]
    assert [place["queueOffset"] for place in places] == ["0", "1", "2", "3"]
    assert rig.pull() == [b"0", b"1", b"2", b"3"]
    assert rig.pull(subscription="b") == [b"1", b"3"]
    queue = {"topic": "T", "queueId": "0"}
    assert rig.request(RequestCode.GET_MAX_OFFSET, queue).fields == GetMaxOffsetResponseHeader(offset=4)
    assert rig.request(RequestCode.GET_MIN_OFFSET, queue).fields == GetMinOffsetResponseHeader(offset=0)
    viewed = rig.request(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(int(places[2]["msgId"][16:], 16))})
    assert [message.body for message in records(b"".join(viewed.body))] == [b"2"]
    query = {"topic": "T", "key": "k3", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(rig.clock() + 1)}
    found = rig.request(RequestCode.QUERY_MESSAGE, query)
    assert [message.body for message in records(b"".join(found.body))] == [b"3"]


async def test_a_message_sent_back_is_redelivered_after_its_delay(rig: Rig) -> None:
    place = rig.send(b"again")
    given = {"offset": str(int(place["msgId"][16:], 16)), "group": "G", "delayLevel": "2", "maxReconsumeTimes": "16"}
    assert rig.request(RequestCode.CONSUMER_SEND_MSG_BACK, given).code == ResponseCode.SUCCESS
    for _ in rig.delays._settling:
        pass
    rig.delays.deliver()
    assert rig.pull("%RETRY%G") == []
    rig.clock.now += 5000
    rig.delays.deliver()
    assert rig.pull("%RETRY%G") == [b"again"]


@pytest.mark.parametrize("decision", [SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK])
async def test_a_transaction_is_visible_after_its_commit(rig: Rig, decision: int) -> None:
    text = properties_text(TRAN_MSG="true", PGROUP="P", UNIQ_KEY="K")
    sent = rig.send(b"half", properties=text, sys_flag=int(SysFlag.TRANSACTION_PREPARED))
    assert rig.pull() == []
    ended = end_ext(sent, decision)
    assert rig.request(RequestCode.END_TRANSACTION, ended).code == ResponseCode.SUCCESS
    assert rig.pull() == ([b"half"] if decision == SysFlag.TRANSACTION_COMMIT else [])
    assert rig.transactions.state.undecided_count == 0
