"""Pulls and offset updates of a broker, served by the kernel or by Python: equal answers, counts and offsets."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire import native
from rocketwire.server.broker.broker import Broker
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.net.session import Session
from rocketwire.server.pull.kernel import KernelPulls
from rocketwire.server.registry import broker_families
from rocketwire.server.transactions.half import GROUP as TRANSACTIONS
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies.client import MessageModel
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, PullSysFlag, RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.offset import UpdateConsumerOffsetRequestHeader
from tests.server.harness import (
    BINARY,
    JSON,
    NOW,
    Clock,
    FakePeer,
    consumer,
    mock_clock,
    pull_ext,
    run,
    run_inline,
    small_config,
    subscription,
)
from tests.store.support import draft

FROM_HEARTBEAT = PullSysFlag.SUSPEND
COMMIT = PullSysFlag.SUBSCRIPTION | PullSysFlag.COMMIT_OFFSET
EITHER = (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)


class Side:
    """A broker without sockets."""

    def __init__(self, root: Path, **changes: Any) -> None:
        advertised = Address(host="127.0.0.1", port=10911)
        self.metrics = Metrics()
        self.broker = Broker(
            small_config(root, **changes),
            advertised=advertised,
            routes=RouteTable(),
            metrics=self.metrics,
            clock=Clock(),
            choose=lambda _: 0,
            run_sync=run_inline,
            run_flush=run_inline,
        )
        self.broker.tables.topics.put(TopicConfig(topic_name="T", read_queue_nums=4, write_queue_nums=4, perm=6))
        assert native.kernel is not None
        self.kernel = KernelPulls(native.kernel, self.broker.pulls, self.broker.base.store)
        self.dispatcher = FrameDispatcher(broker_families(self.broker), metrics=self.metrics)
        self.consumer = FakePeer()

    def append(self, *drafts: Draft) -> None:
        assert len(self.broker.base.store.append(drafts)) == len(drafts)

    def python(self, data: bytes) -> bytes:
        """The handlers' answers to whole frames."""
        nothing: Any = None  # neither socket nor nursery is used
        driver: Any = SimpleNamespace(writing=False)
        session = Session(
            nothing,
            ("127.0.0.1", 1000),
            dispatcher=self.dispatcher,
            drive=lambda *_: driver,
            nursery=nothing,
            on_close=lambda _: None,
            in_flight=self.broker.base.in_flight,
        )
        frames, error = FrameReader().receive(memoryview(data))
        assert error is None
        self.dispatcher.serve(session, frames)
        return b"".join(session._output._outbox._chunks)

    def native(self, data: bytes) -> tuple[bytes, int]:
        """The kernel's answers, and how many bytes of frames it served."""
        self.kernel.before_round(NOW, guarded=False)
        answers, taken = self.kernel.native.serve(self.consumer, data, NOW)
        self.kernel.after_round()
        assert isinstance(answers, bytes)
        return answers, taken

    def counts(self) -> object:
        """All state that serving changes."""
        metrics = self.metrics
        return (
            dict(metrics.requests),
            metrics.messages_out,
            metrics.bytes_out,
            metrics.pulls_found,
            self.broker.statistics.delivered._numbers[:],
            {key: dict(queues) for key, queues in self.broker.tables.offsets._table.items()},
            self.waiting(),
        )

    def waiting(self) -> object:
        """The held pulls: their specifications, deadlines, and answers."""
        waiting = []
        for deadline, _, held in self.broker.pulls.long_poll._deadlines:
            assert held.waiters is not None
            spec = held.waiters.spec
            waiting.append(
                (
                    deadline,
                    (spec.topic, spec.queue_id, spec.offset, spec.from_start, spec.most, spec.most_bytes),
                    (spec.message_filter.codes, spec.message_filter.properties, spec.message_filter.most_text),
                    (held.group, held.offset),
                    (held.request.header, held.request.serialize_type, held.request.fields, bytes(held.request.body)),
                )
            )
        return waiting

    def heartbeat(self, *tags: str, **changes: Any) -> None:
        data = consumer("G", *(subscription("T", each, version=number) for number, each in enumerate(tags)), **changes)
        self.broker.clients.register_consumer(self.consumer, "one", data, language="JAVA", version=407)


@contextmanager
def side(**changes: Any) -> Iterator[Side]:
    with tempfile.TemporaryDirectory() as directory:
        made = Side(Path(directory), **changes)
        yield made
        made.broker.close()


def frame(
    ext: dict[str, str], code: int = RequestCode.PULL_MESSAGE, *, opaque: int = 1, flag: int = 0, kind: int = JSON
) -> bytes:
    return encode_frame(Header(code=code, opaque=opaque, flag=flag, language="GO", version=407, ext=ext), b"", kind)


def pull(offset: int = 0, **changes: Any) -> bytes:
    return frame(pull_ext("T", offset, **changes))


def update(offset: int, *, group: str = "G", topic: str = "T", **options: Any) -> bytes:
    fields = UpdateConsumerOffsetRequestHeader(consumer_group=group, topic=topic, queue_id=0, commit_offset=offset)
    return frame(encode_ext(fields), RequestCode.UPDATE_CONSUMER_OFFSET, **options)


# --- the same as the handlers ---

kinds = st.sampled_from([JSON, JSON, BINARY])
offsets = st.integers(-2, 9) | st.sampled_from([-(2**63), 2**63 - 1])
flags = st.sampled_from([0, 0, 0, FLAG_ONEWAY, FLAG_RESPONSE])
pulls = st.builds(
    lambda offset, code, opaque, flag, kind, changes: frame(
        pull_ext("T", offset, **changes), code, opaque=opaque, flag=flag, kind=kind
    ),
    st.integers(-1, 60),
    st.sampled_from(EITHER),
    st.integers(0, 9),
    flags,
    kinds,
    st.fixed_dictionaries(
        {},
        optional={
            "consumer_group": st.sampled_from(["G", "H", TRANSACTIONS, "bad name"]),
            "queue_id": st.integers(-1, 4),
            "max_msg_nums": st.sampled_from([-1, 0, 1, 5, 32, 100]),
            "max_msg_bytes": st.sampled_from([-1, 0, 500, 1 << 20]),
            "sys_flag": st.sampled_from([4, 5, 12, 1, 0, 6, 7, 2]),
            "suspend_timeout_millis": st.sampled_from([-1, 0, 1, 20_000, 1 << 40]),
            "sub_version": st.sampled_from([0, 1]),
            "subscription": st.sampled_from([None, "", "*", "Tag0", "Tag1||Tag2", " ", "||", "a > 1"]),
            "expression_type": st.sampled_from([None, "", "TAG", "SQL92"]),
            "commit_offset": offsets,
            "bname": st.just("b"),
        },
    ),
)
updates = st.builds(
    lambda offset, group, topic, flag, kind: update(offset, group=group, topic=topic, flag=flag, kind=kind),
    offsets,
    st.sampled_from(["G", "H", TRANSACTIONS]),
    st.sampled_from(["T", "unknown", "T@x"]),
    flags,
    kinds,
)
messages = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1, 50, 3000])), max_size=60)


@settings(deadline=None, max_examples=40)
@given(messages, st.lists(pulls | updates, max_size=25), st.sampled_from([(), ("*",), ("Tag1",)]))
def test_the_kernel_answers_as_the_handlers(
    history: list[tuple[int, int]], requests: list[bytes], tags: tuple[str, ...]
) -> None:
    run(_compare, history, requests, tags)


async def _compare(history: list[tuple[int, int]], requests: list[bytes], tags: tuple[str, ...]) -> None:
    with side() as one, side() as other:
        for each in (one, other):
            each.append(*[draft(n, queue_id=queue, body=bytes(size)) for n, (queue, size) in enumerate(history)])
            if tags:
                each.heartbeat(*tags)
        for request in requests:
            answer, taken = one.native(request)
            if not taken:
                answer = one.python(request)
            assert answer == other.python(request)
            assert one.counts() == other.counts()


async def test_the_kernel_serves_pulls_that_find_messages() -> None:
    with side() as one:
        one.append(*map(draft, range(50)))
        one.heartbeat("Tag1")
        for request in (
            pull(),
            pull(49),
            pull(subscription="Tag1 || Tag2"),
            pull(subscription="none"),
            pull(sys_flag=FROM_HEARTBEAT),
            pull(sys_flag=COMMIT),
            pull(expression_type="SQL92", subscription="KEYS IN ('k3', 'k5')"),
            pull(max_msg_bytes=1000),
            frame(pull_ext("T"), RequestCode.LITE_PULL_MESSAGE, kind=BINARY),
            update(3),
            update(4, flag=FLAG_ONEWAY, kind=BINARY),
        ):
            expected = one.python(request)
            assert one.native(request) == (expected, len(request))


@pytest.mark.parametrize("offset", [-1, -2, -(2**63), 2**63 - 1])
async def test_the_kernel_stores_any_offset_as_the_handlers_do(offset: int) -> None:
    for request in (update(offset), pull(sys_flag=COMMIT, commit_offset=offset)):
        with side() as one, side() as other:
            for each in (one, other):
                each.append(*map(draft, range(3)))
                each.broker.tables.offsets.commit("G", "T", 0, 2)
            assert one.native(request) == (other.python(request), len(request))
            expected = offset if offset >= 0 else None
            assert [each.broker.tables.offsets.query("G", "T", 0) for each in (one, other)] == [expected] * 2


@pytest.mark.parametrize(
    "request_",
    [
        pull(50),
        pull(queue_id=1),
        pull(queue_id=4),
        pull(sys_flag=FROM_HEARTBEAT),
        pull(consumer_group=TRANSACTIONS, sys_flag=COMMIT),
        pull(expression_type="SQL92", subscription=" AND ".join(f"{each} > 1" for each in "abcdefghi")),
        pull(expression_type="SQL92", subscription="nonsense >"),
        update(3, group=TRANSACTIONS),
    ],
)
async def test_python_serves_the_rest(request_: bytes) -> None:
    with side() as one:
        one.append(*map(draft, range(50)))
        before = one.counts()
        for _ in range(2):
            assert one.native(request_) == (b"", 0)
        assert one.counts() == before


async def test_a_group_is_created_by_its_first_pull() -> None:
    with side() as one:
        one.append(draft())
        assert one.native(pull(consumer_group="New"))[1]
        assert one.broker.tables.groups.table.get("New") is not None


# --- plans are made again after changes ---


def close_topic(one: Side) -> None:
    one.broker.tables.topics.put(TopicConfig(topic_name="T", read_queue_nums=4, write_queue_nums=4, perm=2))


def take_queues(one: Side) -> None:
    one.broker.tables.topics.put(TopicConfig(topic_name="T", read_queue_nums=0, write_queue_nums=4, perm=6))


def close_group(one: Side) -> None:
    one.broker.tables.groups.put(SubscriptionGroupConfig(group_name="G", consume_enable=False))


def close_broker(one: Side) -> None:
    one.broker.base.config.update({"brokerPermission": "2"})


def remove_queue(one: Side) -> None:
    one.broker.base.store.retention.remove_queue(one.broker.base.store.queues.by_key["T", 0])


@pytest.mark.parametrize("change", [close_topic, take_queues, close_group, close_broker, remove_queue])
async def test_pulls_stop_when_that_is_configured(change: Callable[[Side], None]) -> None:
    with side() as one:
        one.append(*map(draft, range(5)))
        assert one.native(pull())[1]
        change(one)
        assert one.native(pull()) == (b"", 0)


async def test_a_removed_queue_begins_again() -> None:
    with side() as one:
        one.append(*map(draft, range(5)))
        assert one.native(pull())[1]
        remove_queue(one)
        one.append(draft(7))
        assert one.native(pull()) == (one.python(pull()), len(pull()))


async def test_groups_consume_as_their_last_heartbeat_says() -> None:
    request = pull(sys_flag=FROM_HEARTBEAT)
    with side() as one:
        one.append(*map(draft, range(9)))
        answers = []

        def look(*, served: bool = True) -> None:
            answer, taken = one.native(request)
            assert bool(taken) is served
            if served:
                assert answer == one.python(request)
                answers.append(answer)

        look(served=False)
        one.heartbeat("Tag0")
        look()
        one.heartbeat("Tag0", "Tag1")
        look()
        one.heartbeat("*", "Tag1", "Tag1 || Tag2")
        look()
        assert len(set(answers)) == 3
        one.broker.tables.groups.put(SubscriptionGroupConfig(group_name="G", consume_broadcast_enable=False))
        look()
        one.heartbeat("*", "*", "Tag1 || Tag2", message_model=MessageModel.BROADCASTING)
        look(served=False)
        one.broker.tables.groups.put(SubscriptionGroupConfig(group_name="G"))
        look()
        one.broker.clients.unregister_consumer(one.consumer, "G")
        look(served=False)


async def test_the_current_filter_of_a_group_applies() -> None:
    request = pull(sys_flag=FROM_HEARTBEAT)
    with side() as one:
        one.append(*map(draft, range(9)))
        filters = one.broker.tables.filters
        answers = []
        for version, expression in enumerate(["KEYS = 'k1'", "KEYS = 'k2'", "KEYS ="], start=1):
            named = subscription("T", expression, version=version, expression_type="SQL92")
            if version == 1:
                data = consumer("G", named)
                one.broker.clients.register_consumer(one.consumer, "one", data, language="JAVA", version=407)
                assert one.native(request) == (b"", 0)
            list(filters.register("G", [named]))
            expected = one.python(request)
            taken = len(request) if version < 3 else 0
            assert one.native(request) == (expected if taken else b"", taken)
            answers.append(expected)
        assert len(set(answers)) == 3


async def test_a_group_without_requests_for_long_is_forgotten() -> None:
    request = pull(sys_flag=FROM_HEARTBEAT)
    with side() as one:
        one.append(draft())
        one.heartbeat("*")
        assert one.native(request)[1]
        mock_clock().jump(121)
        one.broker.clients.expire()
        assert one.native(request) == (b"", 0)


async def test_limits_are_configured() -> None:
    with side(max_transfer_count_on_message_in_memory=7) as one:
        one.append(*map(draft, range(20)))
        assert one.native(pull()) == (one.python(pull()), len(pull()))
        assert one.metrics.messages_out == 14


async def test_python_serves_pulls_under_a_quota() -> None:
    with side() as one:
        one.append(*map(draft, range(20)))
        config = one.broker.base.config
        other = pull(consumer_group="H")
        for changes, mine, others in (
            ({"groupQuotas": "G=-/5"}, 0, len(other)),
            ({"groupQuotas": "", "topicQuotas": "*=5/-"}, len(pull()), len(other)),
            ({"topicQuotas": "T=-/5"}, 0, 0),
            ({"topicQuotas": ""}, len(pull()), len(other)),
            ({"coldDataFlowControlEnable": "true"}, 0, 0),
            ({"coldDataFlowControlEnable": "false"}, len(pull()), len(other)),
        ):
            config.update(changes)
            assert (one.native(pull())[1], one.native(other)[1]) == (mine, others), changes
