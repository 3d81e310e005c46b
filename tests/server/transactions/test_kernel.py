"""Outcomes of half messages that the kernel stores: stored, answered and noted as by Python, byte for byte."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.wire.facts.codes import FLAG_ONEWAY, RequestCode, SysFlag
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from tests.server.harness import pull_ext, records, run, send_ext, topic_ext
from tests.server.kernel_runs import Run, files_of, running

COMMIT, ROLLBACK = int(SysFlag.TRANSACTION_COMMIT), int(SysFlag.TRANSACTION_ROLLBACK)
SMALL: dict[str, Any] = {"mapped_file_size_commit_log": 1 << 14, "mapped_file_size_consume_queue": 20 * 50}
MARK = "TRAN_MSG\x01true\x02PGROUP\x01p"


def frame(opaque: int, code: int, ext: dict[str, str], body: bytes = b"", *, flag: int = 0, kind: int = 0) -> bytes:
    return encode_frame(Header(code=code, opaque=opaque, flag=flag, version=407, ext=ext), body, kind)


class Half(NamedTuple):
    """A half message that is sent."""

    properties: str = "UNIQ_KEY\x010A\x02KEYS\x01k l\x02TAGS\x01t"
    topic: str = "T"
    sys_flag: int = 4
    body: bytes = b"body"


class End(NamedTuple):
    """A decision: the fields of its header, and how it comes."""

    number: int = 0
    decision: object = COMMIT
    group: str = "p"
    beside: tuple[int, int] = (0, 0)
    more: tuple[tuple[str, str], ...] = ()
    flag: int = 0
    kind: int = 0

    def frame(self, opaque: int, places: list[tuple[int, int]]) -> bytes:
        offset, place = places[self.number % len(places)]
        ext = {
            "producerGroup": self.group,
            "tranStateTableOffset": str(offset + self.beside[0]),
            "commitLogOffset": str(place + self.beside[1]),
            "commitOrRollback": str(self.decision),
            **dict(self.more),
        }
        return frame(opaque, RequestCode.END_TRANSACTION, ext, flag=self.flag, kind=self.kind)


def prepare(served: Run, numbers: itertools.count[int]) -> None:
    """Make topics, a message in the queue of each, and the queues of transactions."""
    for topic in ("T", "U"):
        served.read(frame(next(numbers), RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext(topic, 2)))
    served.read(frame(next(numbers), RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x"))
    served.read(End().frame(next(numbers), send_all(served, numbers, [Half()])))


def send_all(served: Run, numbers: itertools.count[int], halves: list[Half]) -> list[tuple[int, int]]:
    """Queue offset and physical offset of each half message."""
    places = []
    for half in halves:
        ext = send_ext(half.topic, properties=f"{half.properties}\x02{MARK}", sys_flag=half.sys_flag)
        (answer,) = served.read(frame(next(numbers), RequestCode.SEND_MESSAGE_V2, ext, half.body)).values()
        if answer.header.code == 0 and answer.header.ext is not None:
            places.append((int(answer.header.ext["queueOffset"]), int(answer.header.ext["msgId"][16:32], 16)))
    return places or [(0, 0)]


def undecided(served: Run) -> int:
    return served.broker.delays.transactions.state.undecided_count


async def outcome(store: Path, halves: list[Half], reads: list[list[End]], kernel: bool) -> tuple[Any, ...]:
    numbers = itertools.count(1)
    with running(store, kernel=kernel, **SMALL) as served:
        prepare(served, numbers)
        places = send_all(served, numbers, halves)
        answers = [served.read(b"".join(end.frame(next(numbers), places) for end in ends)) for ends in reads]
        state = served.broker.delays.transactions.state
        decided = [state.is_decided(offset) for offset in range(state.end)]
        counts = served.metrics.requests, served.metrics.messages_in, undecided(served), decided
    return answers, files_of(store), counts


names = st.sampled_from(["UNIQ_KEY", "KEYS", "TAGS", "a", "WAIT", "REAL_TOPIC", "REAL_QID", "PGROUP", "DELAY", ""])
items = st.tuples(names, st.just("\x01"), st.sampled_from(["v", "", "1", "x y", "é", "\U0001f600", "U"])).map("".join)
halves_ = st.builds(
    Half,
    properties=st.lists(items, max_size=4).map("\x02".join) | st.just(Half().properties),
    topic=st.sampled_from(["T", "T", "U"]),
    sys_flag=st.sampled_from([4, 4, 5, 0]),
    body=st.binary(max_size=50),
)
more = st.dictionaries(
    st.sampled_from(["fromTransactionCheck", "msgId", "transactionId", "bname", "odd", "AccessKey"]),
    st.sampled_from(["true", "false", "0A", "x", "é"]),
    max_size=3,
).map(lambda found: tuple(found.items()))
ends_ = st.builds(
    End,
    number=st.integers(0, 3),
    decision=st.sampled_from([COMMIT, COMMIT, ROLLBACK, 0, 4, 99, -1, "x"]),
    group=st.sampled_from(["p", "p", "p", "v", "other", "é", ""]),
    beside=st.sampled_from([(0, 0)] * 8 + [(1, 0), (-1, 0), (0, 1), (0, -1), (0, 1 << 40), (-5, -(1 << 40))]),
    more=more,
    flag=st.sampled_from([0, 0, FLAG_ONEWAY]),
    kind=st.sampled_from([0, 1]),
)


@given(st.lists(halves_, min_size=1, max_size=4), st.lists(st.lists(ends_, max_size=6), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_both_ways_do_the_same(
    tmp_path_factory: pytest.TempPathFactory, halves: list[Half], reads: list[list[End]]
) -> None:
    expected = run(outcome, tmp_path_factory.mktemp("python"), halves, reads, False)
    found = run(outcome, tmp_path_factory.mktemp("kernel"), halves, reads, True)
    assert found == expected


async def test_the_kernel_stores_commits_and_rollbacks(tmp_path: Path) -> None:
    numbers = itertools.count(1)
    with running(tmp_path, kernel=True, **SMALL) as served:
        prepare(served, numbers)
        places = send_all(served, numbers, [Half(body=b"%d" % number) for number in range(4)])
        assert undecided(served) == 4
        wanted = [End(0), End(1, ROLLBACK), End(2, kind=1), End(3, ROLLBACK, kind=1)]
        data = b"".join(end.frame(next(numbers), places) for end in wanted)
        before = served.by_kernel
        assert [answer.header.code for answer in served.read(data).values()] == [0] * 4
        assert served.by_kernel - before == len(data)
        assert undecided(served) == 0
        (pulled,) = served.read(frame(next(numbers), RequestCode.PULL_MESSAGE, pull_ext("T"))).values()
        assert [message.body for message in records(pulled.body)] == [b"x", b"body", b"0", b"2"]


async def test_a_message_is_committed_once(tmp_path: Path) -> None:
    numbers = itertools.count(1)
    with running(tmp_path, kernel=True, **SMALL) as served:
        prepare(served, numbers)
        places = send_all(served, numbers, [Half(body=b"once")])
        ends = [End(), End(), End(decision=ROLLBACK), End(kind=1)]
        served.read(b"".join(end.frame(next(numbers), places) for end in ends))
        (pulled,) = served.read(frame(next(numbers), RequestCode.PULL_MESSAGE, pull_ext("T"))).values()
        assert [message.body for message in records(pulled.body)].count(b"once") == 1


async def test_a_record_in_a_body_is_no_half_message(tmp_path: Path) -> None:
    """Its place in the log names a record, but the queue of half messages has another one at its offset."""
    numbers = itertools.count(1)
    with running(tmp_path, kernel=True, **SMALL) as served:
        prepare(served, numbers)
        ((offset, place),) = send_all(served, numbers, [Half()])
        record = served.broker.base.store.record_at(place)
        assert record is not None
        forged = bytearray(record)
        (answer,) = served.read(
            frame(next(numbers), RequestCode.SEND_MESSAGE_V2, send_ext("T"), bytes(forged))
        ).values()
        assert answer.header.ext is not None
        inside = int(answer.header.ext["msgId"][16:32], 16) + 88
        forged[28:36] = inside.to_bytes(8)
        log: Any = served.broker.base.store.log
        log.buffer[inside - log.base : inside - log.base + len(forged)] = forged
        found = served.read(End().frame(next(numbers), [(offset, inside)]))
        assert [answer.header.code for answer in found.values()] == [1]
        assert undecided(served) == 1


async def test_a_message_is_delivered_whole_where_the_log_gets_a_new_file(tmp_path: Path) -> None:
    numbers = itertools.count(1)
    with running(tmp_path, kernel=True, **SMALL) as served:
        prepare(served, numbers)
        bodies = [bytes([65 + number]) * 1500 for number in range(12)]
        places = send_all(served, numbers, [Half(body=body) for body in bodies])
        for number in range(12):
            (answer,) = served.read(End(number).frame(next(numbers), places)).values()
            assert answer.header.code == 0
        (pulled,) = served.read(frame(next(numbers), RequestCode.PULL_MESSAGE, pull_ext("T"))).values()
        assert [message.body for message in records(pulled.body)][2:] == bodies
        assert undecided(served) == 0
