"""Sends by the kernel are stored and answered as by the general path, byte for byte."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.server.timer.keys import TimerKeys
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import DiskNearlyFull
from rocketwire.wire.facts.codes import FLAG_ONEWAY, Permission, RequestCode, ResponseCode, SysFlag
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.recall_handle import decode_recall_handle
from tests.server.harness import (
    NOW,
    Clock,
    FullDisk,
    batch_body,
    mock_clock,
    properties_text,
    records,
    run,
    send_ext,
    serving_topic,
    topic_ext,
)
from tests.server.kernel_runs import Run, files_of, running
from tests.wire import golden

SEND = RequestCode.SEND_MESSAGE
V2 = RequestCode.SEND_MESSAGE_V2
BATCH = RequestCode.SEND_BATCH_MESSAGE
MOST = 3000
"""Bytes that a body has at most in most of these tests."""
SMALL: dict[str, Any] = {
    "mapped_file_size_commit_log": 1 << 16,
    "mapped_file_size_consume_queue": 20 * 50,
    "max_message_size": MOST,
}

opaques = itertools.count(1)


def frame(code: int, ext: dict[str, str], body: bytes = b"", *, flag: int = 0, kind: int = 0) -> bytes:
    return encode_frame(Header(code=code, opaque=next(opaques), flag=flag, version=407, ext=ext), body, kind)


def send(topic: str = "T", body: bytes = b"body", **changes: Any) -> bytes:
    return frame(V2, send_ext(topic, **changes), body)


def make_topics(run: Run) -> None:
    for name, queues, kind in (("T", 3, "SINGLE_TAG"), ("U", 1, "SINGLE_TAG"), ("M", 1, "MULTI_TAG")):
        ext = topic_ext(name, queues, topic_filter_type=kind)
        answers = run.read(frame(RequestCode.UPDATE_AND_CREATE_TOPIC, ext))
        assert [answer.header.code for answer in answers.values()] == [0]


texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = texts | st.sampled_from(["", "true", "false", "TRUE", "a b  c", "x" * 300])
names = st.sampled_from(
    ["KEYS", "TAGS", "UNIQ_KEY", "WAIT", "CLUSTER", "PGROUP", "a", "", "DELAY", "TRAN_MSG", "TIMER_DELAY_MS"]
)
time_names = st.sampled_from(["TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS", "__STARTDELIVERTIME"])
times = st.sampled_from(["3", "0007", "1500", str(NOW + 2345), str(NOW + 3000)] * 3) | st.sampled_from(
    ["0", "-1", "+5", "", "x", "٣", "3456000", "3456001", "9" * 15, "9" * 16, "9" * 20, str(NOW), str(NOW - 1)]
)
beside_times = st.sampled_from(
    ["KEYS", "TAGS", "UNIQ_KEY", "UNIQ_KEY", "WAIT", "a"] * 3
    + ["TIMER_OUT_MS", "REAL_TOPIC", "REAL_QID", "TIMER_DEL_UNIQKEY", "DELAY", "TRAN_MSG", "TIMER_DELAY_SEC"]
)
plain_names = st.sampled_from(["KEYS", "TAGS", "UNIQ_KEY", "WAIT", "CLUSTER", "PGROUP", "a", ""])


def properties(of: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    item = st.tuples(of, st.sampled_from(["\x01", "\x01", "\x01", "", "\x01\x01"]), values).map("".join)
    return st.lists(item, max_size=5).map("\x02".join)


@st.composite
def timed_properties(draw: st.DrawFn) -> str:
    """Properties that mostly name one time, and little else that is not plain."""
    items = draw(st.lists(st.tuples(beside_times, st.just("\x01"), values | st.just("\0")).map("".join), max_size=3))
    items.insert(draw(st.integers(0, len(items))), f"{draw(time_names)}\x01{draw(times)}")
    return "\x02".join(items) + draw(st.sampled_from(["", "\x02"]))


@st.composite
def waiting_properties(draw: st.DrawFn) -> str:
    """As `timed_properties`, of messages that wait for a delay level or for their transaction."""
    items = draw(st.lists(st.tuples(beside_times, st.just("\x01"), values | st.just("\0")).map("".join), max_size=3))
    levels = st.sampled_from(["1", "1", "2", "18", "19", "0", "01", "x", "1 ", "999999999999"])
    marks = st.sampled_from(["true", "true", "TRUE", "false", "x"])
    item = st.tuples(st.just("DELAY\x01"), levels) | st.tuples(st.just("TRAN_MSG\x01"), marks)
    items.insert(draw(st.integers(0, len(items))), "".join(draw(item)))
    return "\x02".join(items)


any_properties = st.one_of(
    properties(plain_names),
    properties(plain_names),
    properties(names),
    timed_properties(),
    timed_properties(),
    waiting_properties(),
    waiting_properties(),
    st.just("a\x01" + "x" * 32_760),
    st.just(properties_text(TAGS="标签", KEYS="鍵 \U0001f600", a="\U00010000")),
)
bodies = st.binary(max_size=200) | st.sampled_from([b"", bytes(MOST), bytes(MOST + 1)])
fields: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "topic": st.sampled_from(["T", "T", "T", "U", "M", "New", "%RETRY%G", "SCHEDULE_TOPIC_XXXX", "bad topic"]),
        "queue_id": st.sampled_from([0, 0, 1, 2, 3, -1]),
        "sys_flag": st.sampled_from([0, 0, 0, SysFlag.COMPRESSED, 0x301, 0x501, 4, 8, 12, 0x30, -1]),
        "flag": st.sampled_from([0, -1, 1 << 30]),
        "reconsume_times": st.sampled_from([0, 3]),
        "unit_mode": st.booleans(),
    }
)
ways = st.sampled_from([(0, 0), (0, 0), (0, 0), (FLAG_ONEWAY, 0), (0, 1), (0, 1), (FLAG_ONEWAY, 1)])
"""Flag and serialise type."""


@st.composite
def single(draw: st.DrawFn) -> bytes:
    flag, kind = draw(ways)
    code = draw(st.sampled_from([V2, V2, V2, SEND, BATCH]))
    ext = send_ext(**draw(fields), properties=draw(any_properties), short=code != SEND)
    return frame(code, ext, draw(bodies), flag=flag, kind=kind)


@st.composite
def batch(draw: st.DrawFn) -> bytes:
    flag, kind = draw(ways)
    keyed = texts.map(lambda key: f"UNIQ_KEY\x01{key}\x02WAIT\x01true\x02")
    usual = keyed | st.sampled_from(["WAIT\x01true", "", "WAIT\x01false\x02UNIQ_KEY\x01u"])
    of_all = draw(usual | any_properties)
    ext = send_ext(**draw(fields), properties=of_all, batch=True)
    if draw(st.sampled_from([False] * 9 + [True])):
        del ext["i"]
    body = b"".join(
        batch_body([draw(st.binary(max_size=100))], draw(properties(plain_names) | any_properties))
        for _ in range(draw(st.integers(0, 6)))
    )
    body = draw(st.sampled_from([body, body, body, body, body[:-1], body + b"\0"]))
    return frame(draw(st.sampled_from([BATCH, BATCH, V2])), ext, body, flag=flag, kind=kind)


streams = st.lists(st.lists(single() | single() | batch(), max_size=12), min_size=1, max_size=4)


async def outcome(store: Path, reads: list[list[bytes]], *, kernel: bool, **changes: Any) -> tuple[Any, ...]:
    with running(store, kernel=kernel, **{**SMALL, **changes}) as served:
        make_topics(served)
        for waits in ("TIMER_DELAY_SEC\x013", "DELAY\x011", "TRAN_MSG\x01true"):
            served.read(send("U", properties=waits))
        answers = [served.read(b"".join(frames)) for frames in reads]
        counts = served.metrics.requests, served.metrics.messages_in
    return answers, files_of(store), counts


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@given(streams)
@settings(max_examples=60, deadline=None)
def test_both_paths_have_the_same_outcome(tmp_path_factory: pytest.TempPathFactory, reads: list[list[bytes]]) -> None:
    expected = run(outcome_of, tmp_path_factory.mktemp("python"), reads, False)
    found = run(outcome_of, tmp_path_factory.mktemp("kernel"), reads, True)
    assert found == expected


async def outcome_of(store: Path, reads: list[list[bytes]], kernel: bool) -> tuple[Any, ...]:
    return await outcome(store, reads, kernel=kernel)


quotas = st.fixed_dictionaries(
    {
        "topic_quotas": st.sampled_from(["T=5/-", "*=20/-", "T=0/-, U=40/-"]),
        "group_quotas": st.sampled_from(["", "producers=7/-", "*=30/-"]),
        "instance_tps": st.sampled_from([0, 0, 60]),
        "converted_message_bytes": st.sampled_from([1, 64, 4096]),
        "ordered_factor": st.sampled_from([1, 5]),
        "scheduled_factor": st.sampled_from([1, 3]),
    }
)
pauses = st.sampled_from([0.0, 0.05, 0.5, 2.0])


@st.composite
def limited_send(draw: st.DrawFn) -> bytes:
    """A plain send, which may be ordered or timed, of one group or another."""
    flag, kind = draw(ways)
    text = draw(
        st.sampled_from(["", "", "__SHARDINGKEY\x01k", "__SHARDINGKEY\x01", "TIMER_DELAY_SEC\x013", "DELAY\x011"])
    )
    fields: dict[str, Any] = {
        "topic": draw(st.sampled_from("TTTU")),
        "producer_group": draw(st.sampled_from(["producers", "others"])),
    }
    if draw(st.booleans()):
        ext = send_ext(**fields, properties=draw(st.sampled_from(["", text])), batch=True)
        body = b"".join(batch_body([bytes(draw(st.integers(0, 200)))], text) for _ in range(draw(st.integers(1, 3))))
        return frame(BATCH, ext, body, flag=flag, kind=kind)
    return frame(V2, send_ext(**fields, properties=text), bytes(draw(st.integers(0, 200))), flag=flag, kind=kind)


limited = st.lists(
    st.tuples(pauses, st.lists(limited_send() | single(), min_size=1, max_size=8)), min_size=1, max_size=5
)


async def limited_outcome(
    store: Path, reads: list[tuple[float, list[bytes]]], kernel: bool, changes: dict[str, Any]
) -> tuple[Any, ...]:
    answers = []
    with running(store, kernel=kernel, **SMALL, **changes) as served:
        make_topics(served)
        for pause, frames in reads:
            mock_clock().jump(pause)
            answers.append(served.read(b"".join(frames)))
        metrics = served.metrics
        made = served.broker.throttle._buckets
        buckets = sorted((*of, each.level, each.taken) for of, each in made.items())
    return answers, files_of(store), metrics.requests, metrics.converted, metrics.throttled, buckets


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@given(limited, quotas)
@settings(max_examples=40, deadline=None)
def test_both_paths_keep_the_same_quotas(
    tmp_path_factory: pytest.TempPathFactory, reads: list[tuple[float, list[bytes]]], changes: dict[str, Any]
) -> None:
    expected = run(limited_outcome, tmp_path_factory.mktemp("python"), reads, False, changes)
    found = run(limited_outcome, tmp_path_factory.mktemp("kernel"), reads, True, changes)
    assert found == expected


Change = Callable[[Run], None]


def request(run: Run, code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> None:
    answers = run.read(frame(code, ext or {}, body))
    assert [answer.header.code for answer in answers.values()] == [0], answers


def topic(name: str, queues: int = 3, **changes: Any) -> Change:
    return lambda run: request(run, RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext(name, queues, **changes))


def config(**changes: object) -> Change:
    text = "".join(f"{name}={value}\n" for name, value in changes.items()).encode()
    return lambda run: request(run, RequestCode.UPDATE_BROKER_CONFIG, body=text)


def typed(run: Run) -> None:
    ext = {**topic_ext("T", 3), "attributes": "+message.type=DELAY"}
    request(run, RequestCode.UPDATE_AND_CREATE_TOPIC, ext)


def topic_gone(run: Run) -> None:
    """As DELETE_TOPIC_IN_BROKER, whose queues a separate task removes: they still exist."""
    assert run.broker.tables.topics.table.remove("T")


def queue_gone(run: Run) -> None:
    store = run.broker.base.store
    store.retention.remove_queue(store.queues.by_key["T", 0])


def disk_full(run: Run) -> None:
    run.broker.base.store.disk_refusal = DiskNearlyFull("99 %")


def clock_back(run: Run) -> None:
    run.clock.now -= 10_000


def clock_on(run: Run) -> None:
    run.clock.now += 10_000


CHANGES: dict[str, Change] = {
    "the topic is gone": topic_gone,
    "the queue is gone": queue_gone,
    "fewer queues": topic("T", 1),
    "another filter type": topic("T", 3, topic_filter_type="MULTI_TAG"),
    "a type of messages": typed,
    "a topic in order": topic("T", 3, order=True),
    "no permission": lambda run: (topic("T", 3, order=True)(run), config(brokerPermission=Permission.READ)(run))[0],
    "smaller messages": config(maxMessageSize=1024),
    "other settings": config(osPageCacheBusyTimeOutMills=5000),
    "the disk is full": disk_full,
    "the clock goes back": clock_back,
    "the clock goes on": clock_on,
}


async def before_and_after(store: Path, change: Change, *, kernel: bool) -> tuple[Any, ...]:
    """Answers after a change to sends that were planned before it, and the files."""

    def some() -> bytes:
        return b"".join(
            [
                send("T", b"one", default_topic="none"),
                send("T", bytes(2000), default_topic="none", queue_id=2),
                frame(BATCH, send_ext("T", default_topic="none", batch=True), batch_body([b"a", b"b"], "TAGS\x01x")),
            ]
        )

    with running(store, kernel=kernel, **SMALL) as served:
        make_topics(served)
        answers = [served.read(some()), served.read(some())]
        assert (served.by_kernel > 0) is kernel
        change(served)
        answers += [served.read(some()), served.read(some())]
    return answers, files_of(store)


async def test_the_kernel_serves_an_unknown_topic_after_its_creation(tmp_path: Path) -> None:
    with running(tmp_path, kernel=True, **SMALL) as served:
        make_topics(served)
        wanted = {"default_topic": "none"}
        for _ in range(2):
            (refused,) = served.read(send("New", b"x", **wanted)).values()
            assert refused.header.code == ResponseCode.TOPIC_NOT_EXIST
        topic("New", 3)(served)
        for by_kernel in (False, True, True):  # the first creates the queue
            taken = served.by_kernel
            (answer,) = served.read(send("New", b"x", **wanted)).values()
            assert answer.header.code == 0
            assert (served.by_kernel > taken) is by_kernel


@pytest.mark.parametrize(("waits", "sys_flag"), [("DELAY\x013", 0), ("TRAN_MSG\x01true", 0), ("TRAN_MSG\x01true", 4)])
async def test_the_kernel_serves_waiting_messages_after_the_creation_of_their_queue(
    tmp_path: Path, waits: str, sys_flag: int
) -> None:
    with running(tmp_path, kernel=True, **SMALL) as served:
        make_topics(served)
        served.read(send("T"))
        for by_kernel in (False, True, True):
            taken = served.by_kernel
            (answer,) = served.read(send("T", properties=f"UNIQ_KEY\x01u\x02{waits}", sys_flag=sys_flag)).values()
            assert answer.header.code == 0
            assert answer.header.ext is not None
            assert answer.header.ext.get("transactionId") == ("u" if "TRAN_MSG" in waits else None)
            assert (served.by_kernel > taken) is by_kernel


@pytest.mark.parametrize("change", CHANGES)
async def test_plans_are_made_again_after_a_change(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []
    for kernel in (False, True):
        monkeypatch.setattr("tests.server.send.test_kernel.opaques", itertools.count(1))
        outcomes.append(await before_and_after(tmp_path / str(kernel), CHANGES[change], kernel=kernel))
    assert outcomes[1] == outcomes[0]
    codes = {answer.header.code for answers in outcomes[0][0][2:] for answer in answers.values()}
    assert (0 in codes) is (
        change not in {"the topic is gone", "a type of messages", "no permission", "the disk is full"}
    )


async def test_sends_that_waited_behind_a_slow_append_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, kernel=True) as served:
        make_topics(served)
        served.read(send())
        config(osPageCacheBusyTimeOutMills=1)(served)
        taken = served.by_kernel
        populate = FileSystem.populate

        def slow(*args: Any) -> bool:
            time.sleep(0.002)
            return populate(*args)

        monkeypatch.setattr(FileSystem, "populate", slow)
        large, later = send(body=bytes(2 << 20)), send()
        answers = list(served.read(large + frame(RequestCode.GET_BROKER_CONFIG, {}) + later).values())
        assert [answer.header.code for answer in answers] == [0, 0, ResponseCode.SYSTEM_BUSY]
        assert served.by_kernel == taken + len(large)


async def test_without_fast_failure_no_append_is_slow(tmp_path: Path) -> None:
    with running(tmp_path, kernel=True) as served:
        config(brokerFastFailureEnable="false")(served)
        assert served.broker.sends.kernel is not None
        assert served.broker.sends.kernel.native.slow_ns == 1_000_000


async def test_stored_messages_are_counted_and_announced(tmp_path: Path) -> None:
    with running(tmp_path, kernel=True) as served:
        make_topics(served)
        served.read(send() + send(queue_id=1))
        store = served.broker.base.store
        arrivals: list[list[tuple[str, int]]] = []
        store.arrivals.subscribe(arrivals.append)
        store.queues.dirty.clear()
        served.clock.now += 7
        counted = served.metrics.messages_in
        batch = frame(BATCH, send_ext("T", batch=True), batch_body([b"a", b"b"]))
        served.read(send() + send(queue_id=1) + send() + batch + frame(SEND, send_ext("T", short=False)))
        assert arrivals == [[("T", 0), ("T", 1)]]
        assert {queue.key for queue in store.queues.dirty} == {("T", 0), ("T", 1)}
        assert store.last_append_timestamp == served.clock.now
        assert served.metrics.messages_in == counted + 6
        assert served.metrics.requests == {
            RequestCode.UPDATE_AND_CREATE_TOPIC: 3,
            V2: 2 + 3,
            BATCH: 1,
            SEND: 1,
        }


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("durable", [True, False])
async def test_answers_wait_for_the_disk(tmp_path: Path, durable: bool, kind: int) -> None:
    with running(tmp_path, kernel=True, flush_disk_type="SYNC_FLUSH") as served:
        make_topics(served)
        store, flush = served.broker.base.store, served.broker.sends.flush
        assert flush is not None
        waiting: list[tuple[int, Callable[[bool], None]]] = []
        looked_at: Any = lambda *call, keeps: waiting.append(call)  # noqa: E731 - not done
        flush.wait_durable = looked_at  # type: ignore[method-assign]
        served.read(send() + send(queue_id=1))
        waiting.clear()
        hurried = send(properties="WAIT\x01false")
        assert served.read(hurried)
        assert not waiting
        taken = served.by_kernel
        at_once = served.read(frame(V2, send_ext("T"), kind=kind) + hurried)
        assert [answer.header.code for answer in at_once.values()] == [0]
        assert served.by_kernel > taken
        [(end, report)] = waiting
        assert end == store.log.position
        report(durable)
        answers = served.wire.take()
        expected = 0 if durable else ResponseCode.FLUSH_DISK_TIMEOUT
        assert [answer.header.code for answer in answers.values()] == [expected]
        assert all((answer.header.ext or {}).keys() >= {"msgId", "queueOffset"} for answer in answers.values())


async def test_a_disk_that_is_full_for_a_while_refuses_as_python_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    changes: dict[str, Any] = {"mapped_file_size_commit_log": 1 << 20, "max_message_size": 30_000}

    def outcome(kernel: bool) -> tuple[Any, ...]:
        monkeypatch.setattr("tests.server.send.test_kernel.opaques", itertools.count(1))
        store = tmp_path / str(kernel)
        with running(store, kernel=kernel, **changes) as served:
            make_topics(served)
            served.read(send())
            disk.full = True
            answers = [served.read(b"".join(send("T", bytes(20_000)) for _ in range(100)))]
            disk.full = False
            answers.append(served.read(send() + send()))
        return [{at: each.header.code for at, each in some.items()} for some in answers], files_of(store)

    general, by_kernel = outcome(kernel=False), outcome(kernel=True)
    assert by_kernel == general
    codes = list(general[0][0].values())
    stored = codes.count(0)
    assert 0 < stored < 100
    assert codes == [0] * stored + [ResponseCode.SERVICE_NOT_AVAILABLE] * (100 - stored)


async def test_the_kernel_serves_plain_sends(tmp_path: Path) -> None:
    with running(tmp_path, kernel=True) as served:
        make_topics(served)
        served.read(send() + send(queue_id=1))
        plain = [
            send(tags="a", keys="b c"),
            send(properties='a\x01"\\/\b標'),
            send(queue_id=1, sys_flag=SysFlag.COMPRESSED | 0x300),
            send(flag=-1, reconsume_times=2, unit_mode=True),
            frame(SEND, send_ext("T", short=False), b"long names"),
            frame(BATCH, send_ext("T", batch=True, properties="WAIT\x01true"), batch_body([b"a", b"b"], "TAGS\x01x")),
            frame(V2, {**send_ext("T"), "n": "broker-a"}, flag=FLAG_ONEWAY),
            frame(V2, send_ext("T", tags="a"), b"binary", kind=1),
            frame(BATCH, send_ext("T", batch=True), batch_body([b"a", b"b"], "TAGS\x01x"), kind=1),
        ]
        taken = served.by_kernel
        served.read(b"".join(plain))
        assert served.by_kernel == taken + sum(map(len, plain))


@pytest.mark.parametrize("kind", [0, 1])
async def test_the_kernel_serves_timer_messages(tmp_path: Path, kind: int) -> None:
    """Even if their queue has no message yet; but Python serves the one that creates the timer's queue."""
    timed = [
        send_ext("T", properties=f"{text}\x02UNIQ_KEY\x01U{number}\x02KEYS\x01k\x02TAGS\x01A", queue_id=number % 3)
        for number, text in enumerate(
            [
                "TIMER_DELAY_SEC\x013",
                "TIMER_DELAY_MS\x013000",
                f"TIMER_DELIVER_MS\x01{NOW + 5}\x02WAIT\x01true",
                f"__STARTDELIVERTIME\x01{NOW + 3_456_000_000}",
                "WAIT\x01false\x02TIMER_DELAY_MS\x011",
            ]
        )
    ]
    with running(tmp_path, kernel=True) as served:
        make_topics(served)
        first = frame(V2, timed[0], kind=kind)
        served.read(first)
        assert served.by_kernel == 0
        frames = [frame(V2, ext, kind=kind) for ext in timed]
        answers = served.read(b"".join(frames))
        assert served.by_kernel == sum(map(len, frames))
        exts = [answer.header.ext or {} for answer in answers.values()]
        assert [ext["queueId"] for ext in exts] == ["0", "1", "2", "0", "1"]
        assert [ext["queueOffset"] for ext in exts] == ["1", "2", "3", "4", "5"]
        handles = [decode_recall_handle(ext["recallHandle"]) for ext in exts]
        assert [handle.unique_key for handle in handles] == [f"U{number}" for number in range(5)]
        assert {handle.topic for handle in handles} == {"T"}
        assert [handle.time - NOW for handle in handles] == [3000, 3000, 5, 3_456_000_000, 1]
        taken = served.by_kernel
        served.read(send() + send())  # the first creates the queue
        assert served.by_kernel == taken + len(send())
        served.read(send() + frames[0])
        assert served.by_kernel == taken + 2 * len(send()) + len(frames[0])


def timers_off(run: Run) -> None:
    """As after a restart: brokers do not accept this key while they run."""
    live = run.broker.base.config[TimerKeys]
    live.current = replace(live.current, timer_wheel_enable=False)
    config(osPageCacheBusyTimeOutMills=5000)(run)


TIMER_CHANGES: dict[str, Change] = {
    "nothing": lambda _run: None,
    "the topic is gone": topic_gone,
    "the queue is gone": queue_gone,
    "shorter delays": config(timerMaxDelaySec=2),
    "timers are off": timers_off,
    "the clock goes on": clock_on,
    "the disk is full": disk_full,
}


@pytest.mark.parametrize("change", TIMER_CHANGES)
async def test_plans_about_times_are_made_again_after_a_change(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def some() -> bytes:
        texts = ["TIMER_DELAY_SEC\x013", f"TIMER_DELIVER_MS\x01{NOW + 9000}\x02UNIQ_KEY\x01U", "a\x01b"]
        return b"".join(send("T", default_topic="none", properties=text) for text in texts)

    outcomes = []
    for kernel in (False, True):
        monkeypatch.setattr("tests.server.send.test_kernel.opaques", itertools.count(1))
        with running(tmp_path / str(kernel), kernel=kernel, **SMALL) as served:
            make_topics(served)
            answers = [served.read(some()), served.read(some())]
            assert (served.by_kernel > 0) is kernel
            TIMER_CHANGES[change](served)
            answers += [served.read(some()), served.read(some())]
        outcomes.append((answers, files_of(tmp_path / str(kernel))))
    assert outcomes[1] == outcomes[0]


class Ticking(Clock):
    """A clock that advances by a millisecond with each reading, but once goes back."""

    def __init__(self, goes_back_after: int) -> None:
        super().__init__()
        self.left = goes_back_after

    def __call__(self) -> int:
        self.left -= 1
        self.now += -1000 if self.left == 0 else 1
        return self.now


@pytest.mark.parametrize("goes_back_after", [-1, 2, 3, 4, 5, 6])
async def test_times_do_not_go_back_when_python_stores_in_the_same_round(tmp_path: Path, goes_back_after: int) -> None:
    clock = Ticking(-1)
    async with serving_topic(tmp_path, queues=2, clock=clock) as (_, client):
        sends = b"".join(
            client.frame(V2, send_ext("T", queue_id=queue_id), b"body", opaque=opaque)
            for opaque, queue_id in enumerate([0, -1, 0, 0, -1, -1, 0, 0])
        )
        for opaques_of in (0, 1):
            clock.left = goes_back_after * opaques_of
            await client.write(sends)
            answers = await client.arrived()
            assert [answer.header.code for answer in answers] == [0] * 8
    log = (tmp_path / "commitlog" / f"{0:020}").read_bytes()
    times = [each.store_timestamp for each in records(log[: log.index(bytes(100))])]
    assert len(times) == 16
    back = [later < earlier for earlier, later in itertools.pairwise(times)]
    assert back.count(True) == (goes_back_after > 0)


SENDS = {SEND, V2, BATCH}


@pytest.mark.parametrize("capture", ["sync", "async", "oneway", "batch", "compressed", "selector"])
@pytest.mark.parametrize("form", ["", "binary_"])
async def test_the_kernel_serves_sends_of_official_clients(tmp_path: Path, form: str, capture: str) -> None:
    found = list(golden.frames(golden.Capture("4.9.7", f"{form}send_{capture}")))
    sends = [data for _, data, row in found if row["kind"] != "response" and row["code"] in SENDS]
    assert {data[4] for data in sends} == {form == "binary_"}
    with running(tmp_path, kernel=True, broker_cluster_name="GoldenCluster") as served:
        for _, data, row in golden.frames(golden.Capture("4.9.7", "setup_topics")):
            if row["kind"] == "request":
                served.read(data)
        for data in sends:
            served.read(data)  # which creates the queues
        taken = served.by_kernel
        served.read(b"".join(sends))
        assert served.by_kernel == taken + sum(map(len, sends))
