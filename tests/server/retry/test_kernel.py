"""Messages sent back that the kernel stores: stored, answered and counted as by Python, byte for byte."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.server.messages.restoring import restore_delayed
from rocketwire.server.statistics.windows import StatisticsColumn
from rocketwire.server.transactions.state import messages_from
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.facts.codes import FLAG_ONEWAY, RequestCode, SysFlag
from rocketwire.wire.frame import Frame, encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.names import RETRY_PREFIX, SCHEDULE_TOPIC
from tests.server.harness import properties_text, run, send_ext, topic_ext
from tests.server.kernel_runs import Run, files_of, running

BACK = RequestCode.CONSUMER_SEND_MSG_BACK
SMALL: dict[str, Any] = {"mapped_file_size_commit_log": 1 << 14, "mapped_file_size_consume_queue": 20 * 50}
opaques = itertools.count(1)


def frame(code: int, ext: dict[str, str], body: bytes = b"", *, flag: int = 0, kind: int = 0) -> bytes:
    return encode_frame(Header(code=code, opaque=next(opaques), flag=flag, version=407, ext=ext), body, kind)


class Message(NamedTuple):
    """A message that is sent, and sent back later."""

    properties: str = properties_text(UNIQ_KEY="0A", KEYS="k l", TAGS="t")
    sys_flag: int = 0
    reconsume_times: int = 0
    body: bytes = b"body"
    topic: str = "T"


class Back(NamedTuple):
    """A message sent back: the fields of its header, and its form."""

    number: int = 0
    level: object = 0
    group: str = "G"
    beside: int = 0
    more: tuple[tuple[str, str], ...] = ()
    flag: int = 0
    kind: int = 0

    def frame(self, places: list[int]) -> bytes:
        offset = places[self.number % len(places)] + self.beside
        ext = {"offset": str(offset), "delayLevel": str(self.level), "group": self.group, **dict(self.more)}
        return frame(BACK, ext, flag=self.flag, kind=self.kind)


def prepare(served: Run) -> None:
    """Create topics and groups, and the queues of some delay levels."""
    for topic in ("T", "U"):
        served.read(frame(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext(topic, 1)))
    for group, queues, tries in (("G", 1, 16), ("H", 2, 16), ("none", 0, 16), ("few", 1, 2)):
        config = SubscriptionGroupConfig(group_name=group, retry_queue_nums=queues, retry_max_times=tries)
        served.read(frame(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, encode_body(config)))
    for level in (1, 3, 4):
        served.read(frame(RequestCode.SEND_MESSAGE_V2, send_ext("U", properties=f"DELAY\x01{level}"), b"x"))


def send_all(served: Run, messages: list[Message]) -> list[int]:
    """The physical offset of each message."""
    places = []
    for message in messages:
        ext = send_ext(
            message.topic,
            properties=message.properties,
            sys_flag=message.sys_flag,
            reconsume_times=message.reconsume_times,
        )
        (answer,) = served.read(frame(RequestCode.SEND_MESSAGE_V2, ext, message.body)).values()
        if answer.header.code == 0 and answer.header.ext is not None:
            places.append(int(answer.header.ext["msgId"][16:32], 16))
    return places or [0]


def counted(served: Run) -> dict[tuple[str, str], tuple[int, int]]:
    """How many messages were sent back, and by how many requests, by group and first topic."""
    counters = served.broker.statistics.sent_back
    keys = [(group, topic) for group in ("G", "H", "few", "new") for topic in ("T", "U", "v")]
    return {key: (counters.total(key), counters.total(key, StatisticsColumn.CALLS)) for key in keys if key in counters}


Edit = tuple[bytes, bytes]
"""What stands in properties, and what to write in its place."""


def deliver(served: Run, delivered: dict[int, int], edits: Sequence[Edit]) -> list[int]:
    """Store again what waits for its next try, with its properties edited; where each is stored."""
    store, places = served.broker.base.store, []
    for level in range(18):
        queue = (SCHEDULE_TOPIC, level)
        for offset, message in messages_from(store, queue, delivered.get(level, 0), 1024):
            delivered[level] = offset + 1
            record = store.record_at(message.physical_offset)
            assert record is not None
            draft = restore_delayed(bytes(record))
            if draft.topic.startswith(RETRY_PREFIX):
                for old, new in edits:
                    draft.properties = draft.properties.replace(old, new)
                places += [result.physical_offset for result in store.append([draft])]
    return places


async def outcome(
    store: Path,
    messages: list[Message],
    reads: list[list[Back]],
    edits: Sequence[Edit],
    kernel: bool,
    **changes: Any,
) -> tuple[Any, ...]:
    global opaques  # noqa: PLW0603 - both runs have the same
    opaques = itertools.count(1)
    with running(store, kernel=kernel, **{**SMALL, **changes}) as served:
        prepare(served)
        places = send_all(served, messages)
        answers: list[dict[int, Frame]] = []
        delivered: dict[int, int] = {}
        for backs in reads:
            answers.append(served.read(b"".join(back.frame(places) for back in backs)))
            places += deliver(served, delivered, edits)
        counts = served.metrics.requests, served.metrics.messages_in, counted(served)
    return answers, files_of(store), counts


names = st.sampled_from(["UNIQ_KEY", "KEYS", "TAGS", "a", "b", "RETRY_TOPIC", "REAL_TOPIC", "ORIGIN_MESSAGE_ID", ""])
items = st.tuples(names, st.just("\x01"), st.sampled_from(["v", "", "WAIT", "x y", "é", "\U0001f600"])).map("".join)
texts = st.lists(items, max_size=4).map("\x02".join) | st.sampled_from(
    ["", Message().properties, "a\x01" + "x" * 32_600, "DELAY\x011", "a\x01\0"]
)
messages_ = st.builds(
    Message,
    properties=texts,
    sys_flag=st.sampled_from([0, 0, 0, int(SysFlag.COMPRESSED), 8, 12]),
    reconsume_times=st.sampled_from([0, 0, 0, 1, 2, 15, 16, 2**31 - 1, -3]),
    body=st.binary(max_size=50),
    topic=st.sampled_from(["T", "U"]),
)
more = st.dictionaries(
    st.sampled_from(["unitMode", "maxReconsumeTimes", "originMsgId", "originTopic", "bname", "odd", "AccessKey"]),
    st.sampled_from(["true", "false", "16", "2", "x", "é"]),
    max_size=3,
).map(lambda found: tuple(found.items()))
backs_ = st.builds(
    Back,
    number=st.integers(0, 5),
    level=st.sampled_from([0, 0, 0, 1, 3, 18, 99, -1, "x", "+3", ""]),
    group=st.sampled_from(["G", "G", "G", "H", "none", "few", "new", "bad group", "é"]),
    beside=st.sampled_from([0] * 8 + [1, -1, 1 << 20, -(1 << 40)]),
    more=more,
    flag=st.sampled_from([0, 0, FLAG_ONEWAY]),
    kind=st.sampled_from([0, 1]),
)


edits_ = st.lists(
    st.sampled_from(
        [
            (b"WAIT\x01false", b"WAIT\x01true"),
            (b"WAIT\x01false\x02", b""),
            (b"DELAY\x013", b"DELAY\x01"),
            (b"DELAY\x013", b"DELAY\x013\x02DELAY\x014"),
            (b"DELAY\x01", b"DELAYED\x01"),
            (b"REAL_QID\x010", b"REAL_QID\x011"),
            (b"REAL_TOPIC\x01%RETRY%G", b"REAL_TOPIC\x01%RETRY%few"),
            (b"RETRY_TOPIC\x01T", b"RETRY_TOPIC\x01v"),
            (b"ORIGIN_MESSAGE_ID\x017F", b"ORIGIN_MESSAGE_ID\x01 "),
            (b"MSG_REGION", b"\x02\x02"),
            (b"UNIQ_KEY\x010A\x02", b""),
        ]
    ),
    max_size=2,
)


@given(
    st.lists(messages_, min_size=1, max_size=4),
    st.lists(st.lists(backs_, max_size=6), min_size=1, max_size=4),
    edits_,
)
@settings(max_examples=100, deadline=None)
def test_both_paths_have_the_same_outcome(
    tmp_path_factory: pytest.TempPathFactory, messages: list[Message], reads: list[list[Back]], edits: list[Edit]
) -> None:
    expected = run(outcome, tmp_path_factory.mktemp("python"), messages, reads, edits, False)
    found = run(outcome, tmp_path_factory.mktemp("kernel"), messages, reads, edits, True)
    assert found == expected


@given(edits_)
@settings(max_examples=40, deadline=None)
def test_both_paths_have_the_same_outcome_for_later_tries(
    tmp_path_factory: pytest.TempPathFactory, edits: list[Edit]
) -> None:
    reads = [[Back()], [Back(1), Back(1, level=18, kind=1)], [Back(2), Back(3, group="few")], [Back(4)]]
    expected = run(outcome, tmp_path_factory.mktemp("python"), [Message()], reads, edits, False)
    found = run(outcome, tmp_path_factory.mktemp("kernel"), [Message()], reads, edits, True)
    assert found == expected


async def test_the_kernel_stores_later_tries(tmp_path: Path) -> None:
    with running(tmp_path, kernel=True, **SMALL) as served:
        prepare(served)
        places = send_all(served, [Message()])
        delivered: dict[int, int] = {}
        for tries in range(2):
            data = Back(tries, level=1).frame(places)
            before = served.by_kernel
            served.read(data)
            assert served.by_kernel - before == len(data)
            places += deliver(served, delivered, ())
        assert counted(served) == {("G", "T"): (2, 2)}


async def test_the_kernel_stores_first_tries(tmp_path: Path) -> None:
    with running(tmp_path, kernel=True, **SMALL) as served:
        prepare(served)
        places = send_all(served, [Message(), Message(properties="TAGS\x01t")])
        wanted = [
            Back(each, kind=kind, more=(("unitMode", "false"), ("originTopic", "T")))
            for each in (0, 1)
            for kind in (0, 1)
        ]
        data = b"".join(back.frame(places) for back in wanted)
        before = served.by_kernel
        assert [answer.header.code for answer in served.read(data).values()] == [0] * 4
        assert served.by_kernel - before == len(data)
        assert counted(served) == {("G", "T"): (4, 4)}


async def test_a_change_of_the_group_counts_at_once(tmp_path: Path) -> None:
    with running(tmp_path, kernel=True, **SMALL) as served:
        prepare(served)
        places = send_all(served, [Message()])
        served.read(Back().frame(places))
        config = SubscriptionGroupConfig(group_name="G", retry_queue_nums=1, retry_max_times=0)
        served.read(frame(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, encode_body(config)))
        before = served.by_kernel
        served.read(Back().frame(places))
        assert served.by_kernel == before
        assert served.broker.tables.topics.get("%DLQ%G") is not None


async def test_python_serves_messages_of_an_earlier_file_of_the_log(tmp_path: Path) -> None:
    with running(tmp_path, kernel=True, **SMALL) as served:
        prepare(served)
        places = send_all(served, [Message(), *[Message(body=bytes(3000))] * 6, Message()])
        before = served.by_kernel
        answers = served.read(Back(0).frame(places))
        assert served.by_kernel == before
        last = Back(7).frame(places)
        answers |= served.read(last)
        assert served.by_kernel - before == len(last)
        assert [answer.header.code for answer in answers.values()] == [0, 0]


async def test_a_message_is_copied_whole_where_the_log_gets_a_new_file(tmp_path: Path) -> None:
    """The kernel's view of the message ends with the file that is full: then Python stores the copy."""
    with running(tmp_path, kernel=True, **SMALL) as served:
        prepare(served)
        places = send_all(served, [Message(body=bytes([65 + each]) * 1500) for each in range(7)])
        for back in [Back(number) for number in range(5, 7)] * 8:
            (answer,) = served.read(back.frame(places)).values()
            assert answer.header.code == 0
        assert counted(served) == {("G", "T"): (16, 16)}


async def outcome_of_damage(store: Path, damage: list[tuple[int, int]], kernel: bool) -> tuple[Any, ...]:
    global opaques  # noqa: PLW0603 - as above
    opaques = itertools.count(1)
    with running(store, kernel=kernel, **SMALL) as served:
        prepare(served)
        places = send_all(served, [Message(), Message(body=b"other")])
        log: Any = served.broker.base.store.log
        for at, value in damage:
            log.buffer[places[0] - log.base + at] = value
        answers = [served.read(Back(number).frame(places)) for number in (0, 1)]
        return answers, files_of(store)


@given(st.lists(st.tuples(st.integers(0, 170), st.sampled_from([0, 1, 2, 16, 127, 128, 255])), min_size=1, max_size=3))
@settings(max_examples=100, deadline=None)
def test_a_damaged_record_is_treated_as_by_python(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[int, int]]
) -> None:
    expected = run(outcome_of_damage, tmp_path_factory.mktemp("python"), damage, False)
    found = run(outcome_of_damage, tmp_path_factory.mktemp("kernel"), damage, True)
    assert found == expected
