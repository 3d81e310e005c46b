"""The raw load generator counts right answers and stops at the first wrong one."""

import os
from pathlib import Path

import pytest

from rocketwire.wire.frame import Frame
from rocketwire.wire.properties import decode_properties
from tests.bench.fake_broker import Answer, FakeBroker, record
from tests.bench.fake_server import run

SENT: Answer = (0, {"msgId": "7F00000100002A9F0000000000000000", "queueId": "0", "queueOffset": "41"}, b"")
FILLED = 64


def filled(frame: Frame, *, skip: int = 0, short: int = 0) -> Answer:
    """Answers of a broker whose queues hold FILLED messages each."""
    if frame.header.code == 34:
        return 0, {}, b""
    if frame.header.code == 30:
        return 0, {"offset": str(FILLED)}, b""
    ext = frame.header.ext or {}
    first = int(ext["queueOffset"])
    until = min(first + int(ext["maxMsgNums"]), FILLED)
    body = b"".join(record(offset + skip) for offset in range(first, until))
    return 0, {"nextBeginOffset": str(until), "minOffset": "0", "maxOffset": str(FILLED)}, body[: len(body) - short]


def test_sends_are_counted_and_timed(load: Path) -> None:
    with FakeBroker(lambda _frame: SENT) as broker:
        code, result = run(
            load, broker, "send", "--connections", "2", "--window", "4", "--server-pid", str(os.getpid())
        )
    assert code == 0
    assert result["errors"] == 0
    assert 0 < result["messages"] <= len(broker.requests)
    assert 0.2 <= result["seconds"] < 5
    assert 0 < result["p50_us"] <= result["p99_us"]
    assert result["server_cpu_seconds"] >= 0
    opaques = [frame.header.opaque for frame in broker.requests]
    assert len(opaques) - len(set(opaques)) <= len(opaques) // 2  # two connections, each with its own


def test_a_count_is_sent_exactly_and_evenly(load: Path) -> None:
    with FakeBroker(lambda _frame: SENT) as broker:
        code, result = run(load, broker, "send", "--count", "200", "--window", "8", "--queues", "4")
    assert (code, result["errors"]) == (0, 0)
    queues = [(frame.header.ext or {})["e"] for frame in broker.requests]
    assert result["messages"] == len(queues)
    assert 200 <= len(queues) < 208
    assert max(map(queues.count, "0123")) - min(map(queues.count, "0123")) <= 1


def test_a_batch_counts_its_messages(load: Path) -> None:
    with FakeBroker(lambda _frame: SENT) as broker:
        code, result = run(load, broker, "batch", "--batch", "8", "--window", "1")
    assert code == 0
    assert result["messages"] == result["requests"] * 8


def test_sync_has_one_request_in_flight(load: Path) -> None:
    with FakeBroker(lambda _frame: SENT) as broker:
        code, result = run(load, broker, "sync")
    assert code == 0
    assert result["messages"] == result["requests"]
    assert len(broker.requests) - result["requests"] <= 1


def test_a_refused_send_is_fatal_with_the_reason(load: Path) -> None:
    with FakeBroker(lambda _frame: (14, {}, b"")) as broker:
        code, result = run(load, broker, "send")
    assert code == 1
    assert result == {"errors": 1, "error": "send: code 14, remark none"}


def test_a_patient_run_sends_again_what_a_busy_server_refused(load: Path) -> None:
    turns = iter(range(1_000_000))
    with FakeBroker(lambda _frame: (2, {}, b"") if next(turns) % 3 == 0 else SENT) as broker:
        code, result = run(load, broker, "send", "--patient", "--count", "60", "--window", "1")
    assert (code, result["errors"], result["messages"]) == (0, 0, 60)
    assert len(broker.requests) == 90


def test_a_closed_connection_is_fatal(load: Path) -> None:
    with FakeBroker(lambda _frame: None) as broker:
        code, result = run(load, broker, "send")
    assert code == 1
    assert result["error"].startswith("the server closed a connection")


def test_pulls_walk_their_queues_round_and_round(load: Path) -> None:
    with FakeBroker(filled) as broker:
        code, result = run(load, broker, "pull", "--window", "2", "--queues", "2", "--batch", "10")
    assert (code, result["errors"]) == (0, 0)
    pulls = [frame.header.ext or {} for frame in broker.requests if frame.header.code == 11]
    assert {(int(ext["queueId"]), int(ext["queueOffset"])) for ext in pulls} == {
        (queue, offset) for queue in (0, 1) for offset in range(0, FILLED, 10)
    }
    assert result["messages"] > result["requests"] * 4


@pytest.mark.parametrize(("skip", "short"), [(1, 0), (0, 1), (0, 100_000)])
def test_a_pull_with_wrong_records_is_fatal(load: Path, skip: int, short: int) -> None:
    with FakeBroker(lambda frame: filled(frame, skip=skip, short=short)) as broker:
        code, result = run(load, broker, "pull", "--queues", "1")
    assert code == 1
    assert "no whole records" in result["error"]


def test_an_empty_topic_cannot_be_pulled(load: Path) -> None:
    with FakeBroker(lambda frame: (0, {"offset": "0"}, b"")) as broker:
        code, result = run(load, broker, "pull")
    assert (code, result["error"]) == (1, "queue 0 of BenchRaw holds 0 messages: fill it first")


def test_a_transaction_is_counted_when_its_commit_is_answered(load: Path) -> None:
    with FakeBroker(lambda frame: (0, {}, b"") if frame.header.code == 37 else SENT) as broker:
        code, result = run(load, broker, "transaction", "--count", "40", "--window", "4", "--group", "g")
    assert (code, result["errors"]) == (0, 0)
    prepared = [frame for frame in broker.requests if frame.header.code == 310]
    commits = [frame.header.ext or {} for frame in broker.requests if frame.header.code == 37]
    assert result["messages"] == len(prepared) == len(commits)
    assert {(end["commitLogOffset"], end["tranStateTableOffset"]) for end in commits} == {("0", "41")}
    keys = [decode_properties((frame.header.ext or {})["i"])["UNIQ_KEY"] for frame in prepared]
    assert sorted(end["msgId"] for end in commits) == sorted(keys)


def test_a_refused_commit_is_fatal(load: Path) -> None:
    with FakeBroker(lambda frame: (1, {}, b"") if frame.header.code == 37 else SENT) as broker:
        code, result = run(load, broker, "transaction")
    assert (code, result["error"]) == (1, "transaction: code 1, remark none")


def test_send_backs_name_the_messages_sent_before(load: Path) -> None:
    sent: dict[str, int] = {}

    def answer(frame: Frame) -> Answer:
        ext = frame.header.ext or {}
        if frame.header.code == 36:
            return 0, {}, b""
        key = decode_properties(ext["i"])["UNIQ_KEY"]
        sent[key] = 200 * len(sent)
        return 0, {"msgId": f"7F00000100002A9F{sent[key]:016X}", "queueId": "0", "queueOffset": "0"}, b""

    with FakeBroker(answer) as broker:
        code, result = run(load, broker, "retry", "--window", "32", "--delay", "18")
    assert (code, result["errors"]) == (0, 0)
    backs = [frame.header.ext or {} for frame in broker.requests if frame.header.code == 36]
    assert 0 < result["messages"] <= len(backs)
    assert {(back["originMsgId"], int(back["offset"])) for back in backs} <= sent.items()
    assert {back["delayLevel"] for back in backs} == {"18"}
    assert "DELAY" not in decode_properties((broker.requests[0].header.ext or {})["i"])


class Delivering:
    """A broker of one queue that delivers each message `times` times, `age` ms after it was born."""

    def __init__(self, *, times: int = 1, age: int = 50) -> None:
        self._times, self._age = times, age
        self._sent = 0

    def __call__(self, frame: Frame) -> Answer:
        ext = frame.header.ext or {}
        if frame.header.code == 310:
            self._sent += 1
            assert decode_properties(ext["i"])["DELAY"] == "1"
            return SENT
        held = self._sent * self._times
        if frame.header.code == 30:
            return 0, {"offset": str(held)}, b""
        if frame.header.code == 11:
            first = int(ext["queueOffset"])
            until = min(first + int(ext["maxMsgNums"]), held)
            body = b"".join(record(offset, stored=1 + self._age) for offset in range(first, until))
            return 0, {"nextBeginOffset": str(until)}, body
        return 0, {}, b""


def test_delivered_messages_are_waited_for_and_their_lateness_noted(load: Path) -> None:
    with FakeBroker(Delivering(age=57)) as broker:
        code, result = run(load, broker, "delivery", "--queues", "1", "--window", "4", "--level-ms", "50")
    assert (code, result["errors"]) == (0, 0)
    sent = [frame for frame in broker.requests if frame.header.code == 310]
    assert result["messages"] == len(sent)
    assert 0.2 <= result["seconds"] < 1
    assert result["max_us"] == 7000
    assert result["p50_us"] == pytest.approx(7000, rel=0.02)


@pytest.mark.parametrize(
    ("broker", "problem"),
    [(Delivering(times=2), "more than were sent are delivered"), (Delivering(age=40), "delivered 10 ms early")],
)
def test_a_delivery_twice_or_too_early_is_fatal(load: Path, broker: Delivering, problem: str) -> None:
    with FakeBroker(broker) as running:
        code, result = run(load, running, "delivery", "--queues", "1", "--window", "4", "--level-ms", "50")
    assert code == 1
    assert problem in result["error"]


def every_second(frame: Frame) -> Answer:
    """Answers of a broker whose filter passes every second message of a pull, and none of the last ones."""
    if frame.header.code != 11:
        return filled(frame)
    ext = frame.header.ext or {}
    first = int(ext["queueOffset"])
    until = min(first + int(ext["maxMsgNums"]), FILLED)
    matching = range(first, until, 2) if until < FILLED else range(0)
    return 0 if matching else 20, {"nextBeginOffset": str(until)}, b"".join(map(record, matching))


def test_filtered_pulls_count_what_they_went_through(load: Path) -> None:
    with FakeBroker(every_second) as broker:
        code, result = run(load, broker, "pull", "--queues", "1", "--window", "1", "--batch", "16", "--sql", "a > 5")
    assert (code, result["errors"]) == (0, 0)
    assert result["messages"] == result["requests"] * 16


def test_a_filtered_pull_that_does_not_get_on_is_fatal(load: Path) -> None:
    def answer(frame: Frame) -> Answer:
        if frame.header.code != 11:
            return filled(frame)
        return 20, {"nextBeginOffset": (frame.header.ext or {})["queueOffset"]}, b""

    with FakeBroker(answer) as broker:
        code, result = run(load, broker, "pull", "--queues", "1", "--sql", "a > 5")
    assert code == 1
    assert "0 records but next offset 0" in result["error"]


def test_a_woken_pull_is_timed(load: Path) -> None:
    # The answer to the pull comes at once: that it is held is the real broker's business.
    def answer(frame: Frame) -> Answer:
        if frame.header.code == 11:
            offset = int((frame.header.ext or {})["queueOffset"])
            return 0, {"nextBeginOffset": str(offset + 1)}, record(offset)
        return SENT

    with FakeBroker(answer) as broker:
        code, result = run(load, broker, "wake")
    assert (code, result["errors"]) == (0, 0)
    assert result["messages"] > 0
    first = next(frame for frame in broker.requests if frame.header.code == 11)
    assert (first.header.ext or {})["queueOffset"] == "42"


def test_the_first_accepted_send_is_waited_for(load: Path) -> None:
    answers: list[Answer | None] = [None, (1, {}, b""), SENT]
    with FakeBroker(lambda _frame: answers.pop(0)) as broker:
        code, result = run(load, broker, "first")
    assert (code, result["errors"]) == (0, 0)
    assert result["accepted_at"] > 0
    assert len(broker.requests) == 3
