from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.core.errors import TopicNotFound
from rocketwire.server.core.metrics import RECEIVE, SEND
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.throttle.throttle import (
    FLOW_CONTROL_REMARK,
    RECEIVE_REMARK,
    SEND_REMARK,
    Throttle,
)
from rocketwire.wire import names
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.message import MessageRecord, encode_record
from tests.server.harness import Client, Server, code_and_remark
from tests.server.send_setup import HOST, Setup, body, fields


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


def set_config(setup: Setup, **values: object) -> Throttle:
    setup.live.update({name: str(value) for name, value in values.items()})
    return setup.throttle


def sends(setup: Setup, count: int, topic: str = "T", group: str = "producers", size: int = 1) -> int:
    """How many of some sends are admitted."""
    wanted = fields(topic, producer_group=group)
    return sum(setup.sending.prepare(wanted, body(bytes(size)), HOST, "") is not None for _ in range(count))


RECORD = memoryview(encode_record(MessageRecord(topic="T", queue_id=0, body=b"m")))


def receives(setup: Setup, count: int, topic: str = "T", group: str = "G") -> int:
    """How many of some receives of one message are admitted."""
    passed = 0
    for _ in range(count):
        quota_set = setup.throttle.receive(topic, group)
        if quota_set is None:
            passed += 1
        elif setup.throttle.passes(RECEIVE, quota_set):
            setup.throttle.received(quota_set, [RECORD])
            passed += 1
    return passed


def test_without_quotas_it_is_inactive(setup: Setup) -> None:
    throttle = setup.throttle
    assert (throttle.sends, throttle.receives, throttle.by_group, throttle.colds) == (False,) * 4
    assert throttle.send("T", "P") is None
    assert throttle.receive("T", "G") is None
    assert sends(setup, 100) == 100
    assert (setup.metrics.converted, setup.metrics.throttled) == ({}, {})


def test_the_remarks_equal_those_of_the_cloud_services(setup: Setup) -> None:
    throttle = setup.throttle
    assert (throttle.send_remark, throttle.receive_remark) == (
        "Rate of message sending reaches limit, please take a control or upgrade the resource specification.",
        "Rate of message receiving reaches limit, please take a control or upgrade the resource specification.",
    )
    set_config(setup, throttleWording="flow-control")
    assert (throttle.send_remark, throttle.receive_remark) == ("messages flow control",) * 2
    assert (SEND_REMARK, RECEIVE_REMARK) != (FLOW_CONTROL_REMARK,) * 2


def test_a_brokers_quota_is_shared_by_all_and_has_two_halves(setup: Setup) -> None:
    throttle = set_config(setup, instanceTps=20)
    assert (throttle.sends, throttle.receives, throttle.by_group) == (True, True, False)
    assert sends(setup, 6) + sends(setup, 6, group="other") == 10
    assert receives(setup, 6) + receives(setup, 6, group="H") == 10
    assert setup.metrics.throttled == {(SEND, "instance"): 2, (RECEIVE, "instance"): 2}
    assert setup.metrics.converted == {SEND: 10, RECEIVE: 10}
    setup.now += 0.5
    assert (sends(setup, 10), receives(setup, 10)) == (5, 5)


def test_topics_and_groups_have_separate_quotas(setup: Setup) -> None:
    setup.topics.put(TopicConfig(topic_name="U", read_queue_nums=1, write_queue_nums=1))
    throttle = set_config(setup, topicQuotas="T=5/3", groupQuotas="P=2/-,*=-/1")
    assert throttle.by_group
    assert sends(setup, 9, group="P") == 2
    assert sends(setup, 9, group="Q") == 3
    assert sends(setup, 9, topic="U", group="Q") == 9
    assert sends(setup, 9, topic="U", group="P") == 0
    assert setup.metrics.throttled == {(SEND, "group"): 16, (SEND, "topic"): 6}
    assert (receives(setup, 9, group="G"), receives(setup, 9, group="H"), receives(setup, 9, group="P")) == (1, 1, 1)
    assert (receives(setup, 1, group="I"), receives(setup, 5, "U", "P")) == (0, 5)


def test_a_star_gives_each_name_a_bucket(setup: Setup) -> None:
    set_config(setup, groupQuotas="*=3/0")
    assert [sends(setup, 5, group=group) for group in ("A", "B", "A")] == [3, 3, 0]
    assert receives(setup, 5) == 0


def test_accounts_have_buckets_beside_those_of_their_groups(setup: Setup) -> None:
    throttle = set_config(setup, accountQuotas="app@one.example=2/-,*=-/3", groupQuotas="P=9/-")
    quota_set = throttle.send("T", "P", "app@one.example")
    assert quota_set is not None
    assert quota_set.kinds == ("group", "account")
    assert throttle.send("T", "Q", "another") is None
    assert throttle.receive("T", "G", "") is None  # without an account there is no quota of one
    receive = throttle.receive("T", "G", "another")
    assert receive is not None
    throttle.received(receive, [RECORD])
    assert list(throttle.written()) == [
        (SEND, "group", "P", 9, 0),
        (SEND, "account", "app@one.example", 2, 0),
    ]
    assert list(throttle.unwritten()) == [(RECEIVE, "account", "another", 3, 1)]


def test_a_refusal_costs_nothing_in_other_buckets(setup: Setup) -> None:
    set_config(setup, instanceTps=20, topicQuotas="T=1/-")
    setup.topics.put(TopicConfig(topic_name="U", read_queue_nums=1, write_queue_nums=1))
    assert sends(setup, 100) == 1
    assert sends(setup, 100, topic="U") == 9


@pytest.mark.parametrize(
    "topic", sorted(names.SEND_FORBIDDEN_TOPICS | {names.TRACE_TOPIC, "rmq_sys_TRACE_DATA_DefaultRegion"})
)
def test_system_topics_do_not_count(setup: Setup, topic: str) -> None:
    throttle = set_config(setup, instanceTps=2, topicQuotas="*=0/0", groupQuotas="*=0/0")
    assert throttle.send(topic, "P") is None
    assert throttle.receive(topic, "G") is None


@pytest.mark.parametrize(
    "topic",
    [
        "rmq_sys_anything",
        "RMQ_SYS_TRACE_TOPIC_2",
        "rmq_sys_TRACE_DATA_other",
        "C",
        "B",
        "C_REPLY_TOPIC",
        names.BENCHMARK_TOPIC,
        names.AUTO_CREATE_TOPIC,
        names.retry_topic("G"),
        names.dead_letter_topic("G"),
    ],
)
@pytest.mark.parametrize("group", ["CID_RMQ_SYS_mine", "CID_RMQ_SYS_TRANS", "TOOLS_CONSUMER", ""])
def test_every_other_name_counts(setup: Setup, topic: str, group: str) -> None:
    throttle = set_config(setup, instanceTps=2, topicQuotas="*=1/1", groupQuotas="*=1/1")
    kinds = ("instance", "topic", "group") if group else ("instance", "topic")
    for quota_set in (throttle.send(topic, group), throttle.receive(topic, group), throttle.send("T", group)):
        assert quota_set is not None
        assert quota_set.kinds == kinds


def test_a_groups_retries_are_receives(setup: Setup) -> None:
    set_config(setup, groupQuotas="G=-/2")
    assert receives(setup, 5, names.retry_topic("G")) == 2


@pytest.mark.parametrize(
    "topic",
    [
        TopicConfig(topic_name="F", read_queue_nums=1, write_queue_nums=1, order=True),
        TopicConfig(topic_name="F", read_queue_nums=1, write_queue_nums=1, attributes={"message.type": "FIFO"}),
    ],
    ids=["order", "type"],
)
def test_an_ordered_topic_is_charged_more(setup: Setup, topic: TopicConfig) -> None:
    set_config(setup, topicQuotas="F=10/10", enableTopicMessageTypeCheck="false")
    setup.topics.put(topic)
    setup.throttle.changed()
    assert sends(setup, 10, topic="F") == 2
    assert receives(setup, 10, topic="F") == 2
    assert setup.metrics.converted == {SEND: 10, RECEIVE: 10}


def test_a_topic_that_becomes_ordered_after_refused_sends_is_charged_more(setup: Setup) -> None:
    set_config(setup, topicQuotas="F=10/10", autoCreateTopicEnable="false")
    with pytest.raises(TopicNotFound):
        sends(setup, 1, topic="F")
    setup.topics.put(TopicConfig(topic_name="F", read_queue_nums=1, write_queue_nums=1, order=True))
    assert sends(setup, 10, topic="F") == 2


def test_a_change_takes_effect_and_keeps_the_other_buckets(setup: Setup) -> None:
    set_config(setup, instanceTps=20, topicQuotas="T=5/-")
    assert sends(setup, 9) == 5
    set_config(setup, topicQuotas="T=8/-")
    assert sends(setup, 9) == 5  # of the 8 the broker's quota leaves these
    set_config(setup, orderedFactor=2, maxMessageSize=4096)
    assert sends(setup, 9) == 0
    set_config(setup, instanceTps=0, topicQuotas="")
    assert sends(setup, 9) == 9


def test_a_refused_message_is_not_charged(setup: Setup) -> None:
    set_config(setup, topicQuotas="T=2/-", maxMessageSize=10)
    for _ in range(5):
        with pytest.raises(Exception, match="the message is illegal"):
            setup.sending.prepare(fields(), body(bytes(11)), HOST, "")
    assert sends(setup, 5) == 2


def test_reads_from_the_disk_are_charged_in_bytes(setup: Setup) -> None:
    throttle = set_config(setup, coldDataFlowControlEnable="true", cgColdReadThreshold=100, globalColdReadThreshold=150)
    assert (throttle.colds, throttle.receives) == (True, False)

    def reads(group: str, count: int) -> int:
        passed = 0
        for _ in range(count):
            quota_set = throttle.cold(group)
            if throttle.passes(RECEIVE, quota_set):
                quota_set.charge(50)
                passed += 1
        return passed

    assert (reads("G", 3), reads("H", 3), reads("I", 3)) == (2, 1, 0)
    assert setup.metrics.throttled == {(RECEIVE, "cold"): 6}


def test_a_backlog_refuses_all_sends(setup: Setup) -> None:
    changes: list[None] = []

    def forgets() -> None:
        setup.throttle.changed()
        changes.append(None)

    setup.throttle.invalidated.subscribe(forgets)
    setup.throttle.backlogged(["T"])
    setup.throttle.backlogged(["T"])
    assert (setup.throttle.sends, len(changes), sends(setup, 2)) == (True, 1, 0)
    assert setup.metrics.throttled == {(SEND, "backlog"): 2}
    assert receives(setup, 2) == 2
    setup.throttle.backlogged([])
    assert (setup.throttle.sends, sends(setup, 2)) == (False, 2)


def renewed(setup: Setup) -> Throttle:
    """A throttle made with the patched bounds, which replaces the other one."""
    throttle = setup.throttle = Throttle(setup.live[ThrottleKeys], setup.topics, setup.metrics, now=lambda: setup.now)
    setup.live.changed.subscribe(throttle.changed)
    throttle.invalidated.subscribe(throttle.changed)
    setup.sending.throttle = throttle
    return throttle


def test_groups_that_come_and_leave_use_no_memory(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.server.throttle.throttle._MOST_BUCKETS", 4)
    monkeypatch.setattr("rocketwire.server.throttle.throttle._MOST_QUOTA_SETS", 8)
    throttle = renewed(setup)
    set_config(setup, instanceTps=20_000, groupQuotas="*=5/-,big=9/-")
    assert sends(setup, 20, group="big") == 9
    for number in range(100):
        assert sends(setup, 1, group=f"g{number}") == 1
        setup.now += 1
        assert len(throttle._buckets) <= 5
        assert len(throttle._quota_sets) <= 8
    assert [sends(setup, 20, group="big") for _ in range(2)] == [9, 0]
    for number in range(100):  # none of these is full again
        assert sends(setup, 1, group=f"h{number}", size=4096 * 100) == 1
    assert sends(setup, 100, group="h0") == 0
    assert sends(setup, 20, group="big") == 0


def kept_bytes(throttle: Throttle) -> int:
    return sum(len(part) for table in (throttle._quota_sets, throttle._buckets) for key in table for part in key)


@pytest.mark.parametrize("rate", [0, 5])
def test_long_names_are_not_kept(setup: Setup, rate: int) -> None:
    throttle = set_config(
        setup, instanceTps=20, topicQuotas="*=9/9", groupQuotas=f"*={rate}/{rate}", accountQuotas="*=7/7"
    )
    for number in range(50):
        for long in (
            f"{number:03d}" + "x" * 1000,
            f"{number:03d}" + "\N{GRINNING FACE}" * 64,
            f"{number}" + "\ud800" * 256,
        ):
            for topic, group in ((long, "G"), ("T", long), (long, long)):
                assert throttle.send(topic, group) is throttle.send(topic, group) is not None
                assert throttle.receive(topic, group) is not None
            throttle.cold(long)
            assert throttle.send("T", "G", long) is throttle.send("T", "G", long)
    assert kept_bytes(throttle) < 2000
    assert throttle.send("t" * 127, "g" * 255) is not throttle.send("t" * 127, "h" * 255)
    assert sends(setup, 9, group="x" * 256) + sends(setup, 9, group="y" * 256) == rate


def test_the_memory_for_invented_groups_is_bounded(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those that were all refused nor those that are all in debt are kept; configured ones are."""
    monkeypatch.setattr("rocketwire.server.throttle.throttle._MOST_BUCKETS", 4)
    monkeypatch.setattr("rocketwire.server.throttle.throttle._MOST_INDEBTED", 16)
    throttle = renewed(setup)
    set_config(setup, topicQuotas="T=100000/-", groupQuotas="*=0/-,big=9/-", coldDataFlowControlEnable="true")
    for number in range(100):
        assert sends(setup, 1, group=f"g{number}") == 0
        assert len(throttle._buckets) <= 5
    set_config(setup, groupQuotas="*=5/-,big=9/-")
    assert sends(setup, 20, group="big", size=4096 * 50) == 1
    for number in range(100):
        assert sends(setup, 1, group=f"g{number}", size=4096 * 100) == 1
        throttle.cold(f"g{number}").charge(1 << 30)
        assert len(throttle._buckets) <= 2 * 16
    assert sends(setup, 20, group="big") == 0


async def test_a_request_with_the_code_of_the_refusal_is_served(server: Server, broker: Client) -> None:
    """215 is DELETE_TOPIC_IN_BROKER in a request and FLOW_CONTROL in an answer: two enumerations, never compared."""
    assert (RequestCode(215).name, ResponseCode(215).name) == ("DELETE_TOPIC_IN_BROKER", "FLOW_CONTROL")
    await broker.set_config(topicQuotas="*=0/0", groupQuotas="*=0/0")
    assert code_and_remark(await broker.send("T")) == (ResponseCode.FLOW_CONTROL, SEND_REMARK)
    assert code_and_remark(await broker.pull("T")) == (ResponseCode.FLOW_CONTROL, RECEIVE_REMARK)
    assert code_and_remark(await broker.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "T"})) == (0, None)
