"""`Pulls` against its twin: what it answers is what the store's own reading gives; the rest is Python's."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rocketwire import native
from rocketwire.server.consume_rates import ConsumeRates
from rocketwire.server.filters import MessageFilter
from rocketwire.server.filters.sql import compile_sql
from rocketwire.server.filters.sql.properties import SEPARATOR, property_reader
from rocketwire.server.filters.tag import subscription_filter
from rocketwire.server.kernel_pulls import answer_texts
from rocketwire.server.live_config import LiveConfig
from rocketwire.server.metrics import Metrics
from rocketwire.server.offset_moved import OffsetMoved
from rocketwire.server.pull_answers import Asked, PullAnswers
from rocketwire.store.fetch import FetchLimits, FetchStatus
from rocketwire.store.store import MessageStore
from rocketwire.wire.codes import FLAG_ONEWAY, FLAG_RESPONSE, MAX_FRAME_LENGTH, RequestCode
from rocketwire.wire.frame import encode_frame, encode_frame_head
from rocketwire.wire.header import Header
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.offset import UpdateConsumerOffsetRequestHeader
from rocketwire.wire.headers.pull import PullMessageRequestHeader
from tests.server.harness import BINARY, JSON, Clock, small_config
from tests.store.support import HOST, draft, open_store, remove_log_file, small

MOST_TEXT = 3000  # bytes of property text for one pull: few, so that some pulls end there
ANSWERED = {FetchStatus.FOUND, FetchStatus.NO_MATCHED_MESSAGE}
LIMITS = FetchLimits(
    memory=1 << 40, count_in_memory=32, bytes_in_memory=1 << 18, count_on_disk=8, bytes_on_disk=1 << 16
)


def filter_of(expression: str | None) -> MessageFilter:
    """What an expression asks for: tags, or by SQL when it has a blank in it and no bar."""
    if expression is None or " " not in expression or "|" in expression:
        return subscription_filter(expression)
    chosen = compile_sql(expression)
    return MessageFilter(by_properties=chosen.wanted, most_text=MOST_TEXT, properties=chosen.properties)


class Asking(NamedTuple):
    """A pull: what the kernel is sent, and what the store is asked for."""

    queue_id: int = 0
    offset: int = 0
    most: int = 32
    most_bytes: int | None = None
    expression: str = "*"
    sys_flag: int = 4
    code: int = RequestCode.PULL_MESSAGE
    opaque: int = 7
    serialize_type: int = JSON
    flag: int = 0

    def frame(self, **changes: Any) -> bytes:
        values: dict[str, Any] = {
            "consumer_group": "G",
            "topic": "T",
            "queue_id": self.queue_id,
            "queue_offset": self.offset,
            "max_msg_nums": self.most,
            "sys_flag": self.sys_flag,
            "commit_offset": 5,
            "suspend_timeout_millis": 15_000,
            "sub_version": 0,
            "subscription": self.expression,
            "expression_type": "TAG",
            "max_msg_bytes": self.most_bytes,
            **changes,
        }
        ext = encode_ext(PullMessageRequestHeader(**values))
        return encode_frame(
            Header(code=self.code, opaque=self.opaque, flag=self.flag, ext=ext), b"", self.serialize_type
        )


class Twins:
    """The kernel's `Pulls` over a store, and the same asked of Python."""

    def __init__(self, store: MessageStore, limits: FetchLimits = LIMITS) -> None:
        clock = Clock()
        live = LiveConfig(small_config(Path()), clock)
        moved = OffsetMoved(store, broker_name="b", store_host=HOST, clock=clock)
        self.store = store
        self.answers = PullAnswers(store, live, metrics=Metrics(), consume_rates=ConsumeRates(), offset_moved=moved)
        store._limits = limits
        self.asked: list[tuple[Any, ...]] = []
        self.committed: list[tuple[str, str, int, int]] = []
        self.held: list[tuple[Any, ...]] = []
        self.commit: Callable[..., object] = lambda *offset: self.committed.append(offset)
        self.pulls = self.kernel_pulls()

    def kernel_pulls(self, **changes: Any) -> Any:
        """A `Pulls` over the store, with some arguments changed."""
        arguments: dict[str, Any] = {
            "plan": self._plan,
            "plan_offset": self._plan_offset,
            "commit": self._commit,
            "hold": self._hold,
            "texts": answer_texts(self.answers),
            "max_frame": MAX_FRAME_LENGTH,
        }
        assert native.kernel is not None
        return native.kernel.Pulls(self.store.log, **{**arguments, **changes})

    def _commit(self, *offset: Any) -> None:
        self.commit(*offset)

    def _hold(self, *pull: Any) -> None:
        self.held.append(pull)

    def _plan_offset(self, group: str, topic: str) -> bool:
        self.asked.append((group, topic))
        return group != "mine"

    def _plan(self, *fields: Any) -> Any:
        self.asked.append(fields)
        _, group, topic, queue_id, _, _, subscription, _, most, most_bytes = fields
        queue = self.store.queues.by_key.get((topic, queue_id))
        if subscription == "python":
            return None
        if queue is None:
            return False
        limits = self._limits(most_bytes)
        wanted = filter_of(subscription)
        by_properties = None
        if wanted.by_properties is not None:
            assert wanted.properties is not None
            by_properties = (tuple(map(str.encode, wanted.properties)), wanted.by_properties, wanted.most_text)
        return (
            queue,
            None if wanted.codes is None else list(wanted.codes),
            by_properties,
            most,
            limits.memory,
            limits.count_in_memory,
            limits.bytes_in_memory,
            limits.count_on_disk,
            limits.bytes_on_disk,
            (group, topic, queue_id),
        )

    def _limits(self, most_bytes: int | None) -> FetchLimits:
        own = self.store._limits.bytes_in_memory
        return self.store.limits(own if most_bytes is None else min(own, most_bytes))

    def serve(self, data: bytes) -> tuple[bytes, int]:
        answers, taken = self.pulls.serve(None, data, 0)
        assert isinstance(answers, bytes)
        return answers, taken

    def python(self, pull: Asking) -> tuple[FetchStatus, bytes, int, int]:
        """Status, frame, messages and bytes of the twin's answer."""
        filter_ = filter_of(pull.expression)
        asked = Asked("T", pull.queue_id, pull.offset, pull.offset == 0, pull.most, pull.most_bytes, filter_)
        fetched = self.store.get(
            "T",
            pull.queue_id,
            pull.offset,
            pull.most,
            self._limits(pull.most_bytes).bytes_in_memory,
            filter_.by_code,
            filter_.by_properties,
            filter_.most_text,
        )
        body = b"".join(fetched.chunks)
        head = encode_frame_head(self.answers.reply(asked, fetched).header(pull.opaque), len(body), pull.serialize_type)
        return fetched.status, head + body, fetched.count, fetched.size


@pytest.fixture
def twins(tmp_path: Path) -> Any:
    """Ten messages in the queue 0 of T, with three tags in turn."""
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    store.append([draft(number) for number in range(10)])
    yield Twins(store)
    store.close()


# --- the same answers ---

SQL = ("a > 3", "a IS NULL", "b = 'x' OR TAGS = 'Tag1'", "1 = 1", "a = 'none'", "TAGS IN ('Tag0') AND NOT (a < 3)")
offsets = st.integers(-1, 70)
pulls = st.builds(
    Asking,
    queue_id=st.integers(0, 2),
    offset=offsets,
    most=st.integers(-1, 40),
    most_bytes=st.none() | st.integers(-1, 2000),
    expression=st.sampled_from(["*", "Tag0", "Tag1 || Tag2", "none", "Tag0||Tag1||Tag2||Tag3", *SQL]),
    opaque=st.integers(-(2**31), 2**31 - 1),
    serialize_type=st.sampled_from([JSON, BINARY]),
    code=st.sampled_from([RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE]),
    sys_flag=st.sampled_from([4, 6]),
    flag=st.just(0),
)
limits = st.builds(
    FetchLimits,
    memory=st.sampled_from([0, 500, 3000, 1 << 40]),
    count_in_memory=st.integers(1, 40),
    bytes_in_memory=st.sampled_from([1, 300, 1000, 1 << 18]),
    count_on_disk=st.integers(1, 10),
    bytes_on_disk=st.sampled_from([1, 300, 1000, 1 << 16]),
)
messages = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.sampled_from([1, 10, 100, 2500]), st.booleans()), max_size=60
)
large = st.sampled_from([4096, 1 << 16])


@settings(deadline=None, max_examples=150)
@given(
    messages, large, st.sampled_from([320, 20_000]), st.integers(0, 2), limits, st.lists(pulls, min_size=1, max_size=20)
)
def test_answers_are_those_of_python(
    history: list[tuple[int, int, int, bool]],
    log_size: int,
    queue_size: int,
    expired: int,
    limits: FetchLimits,
    asked: list[Asking],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        setup = small(Path(directory), commit_log_file_size=log_size, consume_queue_file_size=queue_size)
        store = open_store(setup)
        for number, (queue_id, tag, size, away) in enumerate(history):
            code: dict[str, Any] = {"tags_code": -(2**31) - 1 - number} if tag == 5 else {}
            told = f"a\x01{number % 6}\x02\x02b\x01\x02b\x01{'xy'[number % 2]}\x02b\x01\x02TAGS\x01Tag{tag}"
            text = told.encode()[number % 3 :]
            store.append([draft(3 * number + tag, queue_id=queue_id, body=bytes(size), properties=text, **code)])
            if away:
                store.queues.by_key["T", queue_id].park()
        for _ in range(expired):
            if len(store.log.segments) > 2:
                remove_log_file(store)
        twins = Twins(store, limits)
        for pull in asked:
            status, expected, count, size = twins.python(pull)
            answer, taken = twins.serve(pull.frame())
            assert taken in {0, len(pull.frame())}
            delivered, requests = twins.pulls.take()
            held, twins.held = twins.held, []
            if status is FetchStatus.OFFSET_OVERFLOW_ONE and pull.sys_flag & 2:
                account = ("G", "T", pull.queue_id)
                assert held == [(None, account, pull.offset, 15_000, pull.code, pull.opaque, pull.serialize_type)]
                assert (bool(taken), answer, delivered) == (True, b"", [])
                continue
            assert not held
            if taken:
                assert answer == expected
                assert status in ANSWERED
                assert delivered == ([(("G", "T", pull.queue_id), count, size)] if count else [])
                assert sum(requests.values()) == requests[pull.code] == 1
            else:
                assert (answer, delivered, sum(requests.values())) == (b"", [], 0)
                if status in ANSWERED:
                    far = pull.expression in SQL and limits.memory < 1 << 40
                    assert log_size == 4096 or far, "all in one file: that is for the kernel"
            event(f"{status}: {'taken' if taken else 'left'}")
        store.close()


damages = st.lists(
    st.tuples(
        st.sampled_from(["queue", "log"]),
        st.integers(0, 3000),
        st.one_of(
            st.binary(min_size=1, max_size=9),
            st.integers(-(2**63), 2**63 - 1).map(lambda number: number.to_bytes(8, signed=True)),
            st.integers(-300, 3000).map(lambda number: number.to_bytes(8, signed=True)),
            st.integers(-300, 3000).map(lambda number: number.to_bytes(4, signed=True)),
        ),
    ),
    min_size=1,
    max_size=6,
)


@settings(deadline=None, max_examples=100)
@given(damages, st.lists(pulls, min_size=1, max_size=8))
def test_of_a_damaged_store_nothing_else_is_told_than_python_tells(
    damages: list[tuple[str, int, bytes]], asked: list[Asking]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = numbered(Path(directory), 20)
        for part, at, data in damages:
            buffer = store.log.buffer if part == "log" else store.queues.by_key["T", 0].buffer
            assert buffer is not None
            place = at if part == "log" else at % 400
            buffer[place : place + len(data)] = data
        twins = Twins(store)
        for pull in asked:
            answer, taken = twins.serve(pull.frame())
            if taken and not twins.held:
                assert answer == twins.python(pull)[1]
            twins.held.clear()
        store.close()


def test_many_of_one_read_are_answered_in_order(twins: Twins) -> None:
    asked = [Asking(offset=number, opaque=number, serialize_type=number % 2) for number in range(10)]
    data = b"".join(pull.frame() for pull in asked)
    expected = [twins.python(pull) for pull in asked]
    assert twins.serve(data) == (b"".join(each[1] for each in expected), len(data))
    assert len(twins.asked) == 1
    count = sum(each[2] for each in expected)
    assert twins.pulls.take() == (
        [(("G", "T", 0), count, sum(each[3] for each in expected))],
        {11: 10, 15: 0, 361: 0},
    )
    assert twins.pulls.take() == ([], {11: 0, 15: 0, 361: 0})


def test_large_records_are_ranges_of_the_log(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    store.append(
        [draft(number, queue_id=number % 3 // 2, body=bytes([number]) * (number * 500)) for number in range(20)]
    )
    twins = Twins(store)
    for queue_id in range(2):
        pull = Asking(queue_id=queue_id)
        assert twins.serve(pull.frame()) == (twins.python(pull)[1], len(pull.frame()))
    store.close()


def test_more_runs_than_there_is_room_for_are_for_python(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    store.append([draft(number, queue_id=number % 2) for number in range(400)])
    twins = Twins(store, replace_limits(count_in_memory=200))
    for most, takes in ((128, True), (129, False)):
        pull = Asking(most=most)
        assert bool(twins.serve(pull.frame())[1]) is takes
    store.close()


def replace_limits(**changes: Any) -> FetchLimits:
    return replace(LIMITS, **changes)


# --- filters by properties ---


def numbered(tmp_path: Path, count: int = 50, **changes: Any) -> MessageStore:
    """Messages with the properties a (0 to 4 in turn) and b (of the number)."""
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    texts = [b"a\x01%d\x02b\x01%d" % (number % 5, number) for number in range(count)]
    store.append([draft(number, properties=text, **changes) for number, text in enumerate(texts)])
    return store


def test_a_filter_is_asked_once_for_the_same_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = numbered(tmp_path)
    asked: list[bytes] = []

    def wanted(text: bytes) -> bool:
        asked.append(text)
        return b"a\x013" in text

    chosen = MessageFilter(by_properties=wanted, most_text=1 << 20, properties=("a",))
    monkeypatch.setattr("tests.kernel.test_pulls.filter_of", lambda _: chosen)
    twins = Twins(store)
    pull = Asking(expression="a = 3")
    for _ in range(3):
        answer, taken = twins.serve(pull.frame())
        assert taken
    assert len(asked) == 5
    assert answer == twins.python(pull)[1]
    twins.pulls.forget()
    twins.serve(pull.frame())
    assert len(asked) == 5 + 50 + 5
    store.close()


def test_filters_do_not_share_what_they_decide(tmp_path: Path) -> None:
    store = numbered(tmp_path)
    twins = Twins(store)
    for expression in ("a > 3", "a <= 3", "a > 3", "a = b", "b > 7 AND b < 9", "a IS NULL"):
        pull = Asking(expression=expression)
        assert twins.serve(pull.frame()) == (twins.python(pull)[1], len(pull.frame()))
    store.close()


def test_more_values_than_are_kept(tmp_path: Path) -> None:
    store = numbered(tmp_path, 700)
    twins = Twins(store)
    for number in range(30):
        pull = Asking(expression=f"b = {number} OR b = {number}")
        assert twins.serve(pull.frame()) == (twins.python(pull)[1], len(pull.frame()))
    store.close()


@pytest.mark.parametrize("size", [600, 700, 70_000])
def test_a_long_value_is_asked_about_each_time(tmp_path: Path, size: int) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    store.append([draft(number, properties=b"a\x01" + b"x" * min(size, 32_000)) for number in range(3)])
    twins = Twins(store)
    pull = Asking(expression="a <> 'y'")
    assert twins.serve(pull.frame()) == (twins.python(pull)[1], len(pull.frame()))
    store.close()


def test_what_a_filter_raises_is_for_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wanted(_: bytes) -> bool:
        raise ValueError

    chosen = MessageFilter(by_properties=wanted, most_text=1 << 20, properties=("a",))
    monkeypatch.setattr("tests.kernel.test_pulls.filter_of", lambda _: chosen)
    store = numbered(tmp_path)
    assert Twins(store).serve(Asking().frame()) == (b"", 0)
    store.close()


def test_records_of_another_form_are_for_python(tmp_path: Path) -> None:
    store = numbered(tmp_path, sys_flag=0x10, born_host=bytes(20))
    twins = Twins(store)
    assert twins.serve(Asking(expression="a > 3").frame()) == (b"", 0)
    assert twins.serve(Asking().frame())[1]
    store.close()


texts_of_properties = st.lists(
    st.sampled_from(["a", "b", "ab", "", "\x01", "\x02", "a\x01", "\x02a\x01", "b\x01x\x02", "5"]), max_size=12
).map("".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(texts_of_properties, min_size=1, max_size=32))
def test_values_are_those_that_python_finds(texts: list[str]) -> None:
    """A filter that remembers each text's values, asked about texts of which some have the same."""
    readers = [property_reader(name) for name in ("a", "b", "")]

    def values(text: bytes) -> list[bytes | None]:
        return [read(SEPARATOR + text) for read in readers]

    seen: list[list[bytes | None]] = []

    def wanted(text: bytes) -> bool:
        seen.append(values(text))
        return True

    found = native_matches([text.encode() for text in texts], wanted)
    assert found == len(texts)
    expected: list[list[bytes | None]] = []
    for text in texts:
        if values(text.encode()) not in expected:
            expected.append(values(text.encode()))
    assert seen == expected


def native_matches(texts: list[bytes], wanted: Callable[[bytes], bool]) -> int:
    """How many messages with these property texts the kernel finds by a filter that goes by a, b and the empty name."""
    with tempfile.TemporaryDirectory() as directory:
        store = open_store(small(Path(directory), commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
        store.append([draft(number, properties=text) for number, text in enumerate(texts)])
        twins = Twins(store)
        queue = store.queues.by_key["T", 0]
        chosen = ((b"a", b"b", b""), wanted, 1 << 20)
        twins.pulls = twins.kernel_pulls(plan=lambda *_: (queue, None, chosen, 32, 1 << 40, 32, 1 << 20, 9, 9, "me"))
        assert twins.serve(Asking().frame())[1]
        (delivered,) = twins.pulls.take()[0]
        store.close()
        return int(delivered[1])


# --- what is for Python ---


@pytest.mark.parametrize(
    "pull",
    [
        Asking(offset=10),
        Asking(offset=-1),
        Asking(offset=99),
        Asking(queue_id=1),
        Asking(expression="python"),
        Asking(flag=FLAG_ONEWAY),
        Asking(flag=FLAG_RESPONSE),
        Asking(code=RequestCode.QUERY_CONSUMER_OFFSET),
        Asking(expression="x" * 700),
    ],
)
def test_what_is_not_found_or_not_plain_is_left(twins: Twins, pull: Asking) -> None:
    first = Asking(offset=3)
    data = first.frame() + pull.frame() + first.frame()
    assert twins.serve(data) == (twins.python(first)[1], len(first.frame()))
    assert twins.pulls.take()[1] == {11: 1, 15: 0, 361: 0}


def test_part_of_a_frame_is_left(twins: Twins) -> None:
    frame = Asking().frame()
    assert twins.serve(frame[:-1]) == (b"", 0)
    assert twins.serve(b"") == (b"", 0)


def test_nothing_is_taken_while_it_is_off(twins: Twins) -> None:
    twins.pulls.enabled = False
    assert twins.serve(Asking().frame()) == (b"", 0)
    twins.pulls.enabled = True
    assert twins.serve(Asking().frame())[1]


def test_an_answer_that_no_frame_holds_is_left(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    store.append([draft(number, body=bytes(1000)) for number in range(10)])
    twins = Twins(store)
    short = twins.kernel_pulls(max_frame=5000)
    assert short.serve(None, Asking().frame(), 0) == (b"", 0)
    assert short.serve(None, Asking(most=2).frame(), 0)[1]
    store.close()


# --- plans ---


def test_a_plan_is_asked_for_once_and_again_when_it_is_forgotten(twins: Twins) -> None:
    for _ in range(3):
        twins.serve(Asking(offset=3).frame() + Asking(offset=4).frame(commit_offset=9, suspend_timeout_millis=1))
    assert twins.asked == [(11, "G", "T", 0, 4, 0, "*", "TAG", 32, None)]
    twins.pulls.forget()
    twins.serve(Asking().frame())
    assert len(twins.asked) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"consumer_group": "H"},
        {"topic": "U"},
        {"queue_id": 1},
        {"sys_flag": 6},
        {"sub_version": 1},
        {"subscription": "A"},
        {"subscription": None},
        {"expression_type": ""},
        {"expression_type": None},
        {"max_msg_nums": 31},
        {"max_msg_bytes": 0},
        {"max_msg_bytes": 7},
        {"topic": "TG", "consumer_group": ""},
    ],
)
def test_another_combination_has_a_plan_of_its_own(twins: Twins, changes: dict[str, Any]) -> None:
    twins.serve(Asking().frame())
    twins.serve(Asking().frame(**changes))
    assert len(twins.asked) == 2


def test_what_is_for_python_is_kept_and_what_is_not_there_yet_is_asked_again(twins: Twins) -> None:
    for _ in range(3):
        assert twins.serve(Asking(expression="python").frame()) == (b"", 0)
    assert len(twins.asked) == 1
    for _ in range(3):
        assert twins.serve(Asking(queue_id=1).frame()) == (b"", 0)
    assert len(twins.asked) == 4
    twins.store.append([draft(1, queue_id=1)])
    assert twins.serve(Asking(queue_id=1).frame())[1]


def test_plans_may_be_dropped_while_one_is_in_use(twins: Twins) -> None:
    twins.commit = lambda *_: twins.pulls.forget()
    for number in range(3):
        assert twins.serve(Asking(sys_flag=5, opaque=number).frame())[1]
        assert len(twins.asked) == number + 1
    assert twins.pulls.take()[0] == [(("G", "T", 0), 10, twins.python(Asking())[3])] * 3


def test_a_plan_that_raises_is_told(twins: Twins) -> None:
    def plan(*_: Any) -> Any:
        raise KeyError("plan")

    pulls = twins.kernel_pulls(plan=plan, plan_offset=plan)
    for frame in (Asking().frame(), update()):
        with pytest.raises(KeyError, match="plan"):
            pulls.serve(None, frame, 0)


@pytest.mark.parametrize("plan", [7, (1,), (1,) * 9])
def test_a_plan_of_another_shape_is_refused(twins: Twins, plan: object) -> None:
    pulls = twins.kernel_pulls(plan=lambda *_: plan)
    with pytest.raises((TypeError, SystemError)):
        pulls.serve(None, Asking().frame(), 0)


def test_more_plans_than_a_table_holds(twins: Twins) -> None:
    for number in range(20_000):
        pull = Asking(most=number)
        assert twins.serve(pull.frame())[1]
    assert sum(each[1] for each in twins.pulls.take()[0]) == 10 * 20_000 - 9 - 9 - 8 - 7 - 6 - 5 - 4 - 3 - 2 - 1


# --- offsets ---


def update(group: str = "G", offset: int = 5, *, flag: int = 0, serialize_type: int = JSON, opaque: int = 3) -> bytes:
    fields = UpdateConsumerOffsetRequestHeader(consumer_group=group, topic="T", queue_id=2, commit_offset=offset)
    header = Header(code=RequestCode.UPDATE_CONSUMER_OFFSET, opaque=opaque, flag=flag, ext=encode_ext(fields))
    return encode_frame(header, b"", serialize_type)


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
@pytest.mark.parametrize("opaque", [0, -5, 2**31 - 1])
def test_offset_updates_are_noted_and_answered(twins: Twins, serialize_type: int, opaque: int) -> None:
    answer = encode_frame(Header(code=0, opaque=opaque, flag=1, version=407, ext={}), b"", serialize_type)
    for number in range(3):
        data = update(offset=number, serialize_type=serialize_type, opaque=opaque)
        assert twins.serve(data) == (answer, len(data))
    assert twins.committed == [("G", "T", 2, number) for number in range(3)]
    assert twins.asked == [("G", "T")]
    assert twins.pulls.take() == ([], {11: 0, 15: 3, 361: 0})


def test_one_way_updates_are_not_answered(twins: Twins) -> None:
    data = update(flag=FLAG_ONEWAY) * 2
    assert twins.serve(data) == (b"", len(data))
    assert len(twins.committed) == 2


def test_offsets_of_the_brokers_own_are_for_python(twins: Twins) -> None:
    for _ in range(2):
        assert twins.serve(update("mine")) == (b"", 0)
    assert twins.asked == [("mine", "T")]
    assert not twins.committed


def test_a_pull_brings_an_offset_with_it(twins: Twins) -> None:
    pull = Asking(sys_flag=5)
    assert twins.serve(pull.frame())[0] == twins.python(pull)[1]
    assert twins.committed == [("G", "T", 0, 5)]
    twins.serve(Asking(sys_flag=5, offset=10).frame())
    assert len(twins.committed) == 1, "it is for Python, and so is its offset"


def test_what_could_not_be_committed_is_left(twins: Twins) -> None:
    def refuse(*_: Any) -> None:
        raise ValueError

    twins.commit = refuse
    assert twins.serve(Asking(sys_flag=5).frame()) == (b"", 0)
    assert twins.serve(update()) == (b"", 0)
    assert twins.pulls.take() == ([], {11: 0, 15: 0, 361: 0})


# --- pulls that wait ---


def test_a_pull_at_the_end_waits_if_it_may(twins: Twins) -> None:
    waits = Asking(offset=10, sys_flag=6, opaque=70)
    data = waits.frame(suspend_timeout_millis=9) + Asking(offset=10).frame()
    assert twins.pulls.serve("me", data, 0) == (b"", len(waits.frame(suspend_timeout_millis=9)))
    assert twins.held == [("me", ("G", "T", 0), 10, 9, 11, 70, 0)]
    assert not twins.committed
    for offset in (9, 11, -1):
        twins.serve(Asking(offset=offset, sys_flag=6).frame())
    assert len(twins.held) == 1
    assert twins.pulls.take() == ([(("G", "T", 0), 1, twins.python(Asking(offset=9))[3])], {11: 2, 15: 0, 361: 0})


def test_a_pull_that_waits_has_brought_its_offset_before(twins: Twins) -> None:
    waits = Asking(offset=10, sys_flag=7)
    assert twins.serve(waits.frame())[1]
    assert (twins.committed, len(twins.held)) == ([("G", "T", 0, 5)], 1)

    def refuse(*_: Any) -> None:
        raise ValueError

    twins.commit = refuse
    assert twins.serve(waits.frame()) == (b"", 0)
    assert len(twins.held) == 1


def test_what_cannot_wait_is_for_python(twins: Twins) -> None:
    def refuse(*_: Any) -> None:
        raise ValueError

    pulls = twins.kernel_pulls(hold=refuse)
    assert pulls.serve(None, Asking(offset=10, sys_flag=6).frame(), 0) == (b"", 0)
    assert pulls.take() == ([], {11: 0, 15: 0, 361: 0})


# --- the object ---


def test_it_keeps_nothing_alive(tmp_path: Path) -> None:
    store = open_store(small(tmp_path))
    store.append([draft(1)])
    twins = Twins(store)
    twins.serve(Asking().frame() + update())
    gc.collect()
    before = len([each for each in gc.get_objects() if isinstance(each, Twins)])
    del twins
    gc.collect()
    assert len([each for each in gc.get_objects() if isinstance(each, Twins)]) == before - 1
    store.close()


@pytest.mark.parametrize("texts", [(), (((), ()),) * 3, (((b"",) * 5,) * 2, ((b"",) * 5,) * 2, ((b"",) * 5,) * 2)])
def test_texts_of_another_shape_are_refused(twins: Twins, texts: Any) -> None:
    with pytest.raises(TypeError):
        twins.kernel_pulls(texts=texts)
