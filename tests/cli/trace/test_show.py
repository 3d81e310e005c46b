"""Of `show`, `query` and `timeline`."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.names import TRACE_TOPIC
from tests.cli.endpoint import Answers, Command, FakeAnswer, fake_server
from tests.cli.store.support import Ran

ID = "C000020233844E0E2F2A690228950054"
OTHER = "C000020233844E0E2F2A690228950055"
START = 1795252949145


def reports(*each: tuple[object, ...]) -> bytes:
    return "".join("\x01".join(map(str, fields)) + "\x02" for fields in each).encode()


def send(message_id: str = ID, *, success: str = "true", kind: int = 0, more: tuple[str, ...] = ()) -> tuple[Any, ...]:
    common = ("Pub", START, "DefaultRegion", "pg", "T", message_id, "TagA", "k1 k2", "127.0.0.1:10911", 8, 96)
    return (*common, kind, "OFFSETID", success, *more)


def begin(request: str, time: int, retry: int = 0, message_id: str = ID) -> tuple[Any, ...]:
    return ("SubBefore", time, "null", "cg", request, message_id, retry, "k1 k2")


def end(request: str, cost: int, *rest: object, success: str = "true") -> tuple[Any, ...]:
    return ("SubAfter", request, ID, cost, success, "k1 k2", *rest)


def record(topic: str, body: bytes, properties: str, *, at: int = 0, host: str = "10.0.0.7") -> bytes:
    message = MessageRecord(
        topic=topic,
        queue_id=3,
        queue_offset=17,
        physical_offset=at,
        body=body,
        properties=properties.encode(),
        born_host=(host, 50000),
        store_host=("127.0.0.1", 10911),
        store_timestamp=START + 40,
    )
    return encode_record(message)


def traces(*bodies: bytes, topic: str = TRACE_TOPIC) -> bytes:
    return b"".join(record(topic, body, f"KEYS\x01{ID} k1 k2", at=number * 1000) for number, body in enumerate(bodies))


class Shown:
    """`trace show` on a fake broker with messages by topic."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def __call__(self, found: dict[str, bytes], *arguments: str, viewed: bytes | None = None) -> Ran:
        """`viewed`: the message that the broker has at any physical offset; `{port}` in arguments is the broker's."""

        def query(ext: dict[str, str]) -> FakeAnswer:
            body = found[ext["topic"]]
            return FakeAnswer(body=body) if body else FakeAnswer(22, remark="can not find message")

        answers: Answers = {
            RequestCode.QUERY_MESSAGE: query,
            RequestCode.VIEW_MESSAGE_BY_ID: lambda _: (
                FakeAnswer(1, remark="none") if viewed is None else FakeAnswer(body=viewed)
            ),
        }
        with fake_server(answers) as server:
            route = server.route
            server.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda ext: route(
                "T" if ext["topic"] in found else "U"
            )
            host = encode_host("127.0.0.1", server.port)
            ids = [offset_message_id(host, 77) if each == "OFFSET ID" else each for each in arguments]
            return Command(self._captured, server.address)("trace", "show", *ids)


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Shown:
    return Shown(capsys)


TRACED = traces(
    reports(begin("r1", START + 50), end("r1", 7, 4, START + 57, "cg", success="false")),
    reports(send(), send(OTHER), begin("r1", START + 60, message_id=OTHER)),
    reports(begin("r2", START + 1060, 1), end("r2", 3, 0)),
)
STORED = record("T", b"x", f"UNIQ_KEY\x01{ID}") + record("T", b"y", f"UNIQ_KEY\x01{OTHER}")


def test_a_message_s_way(show: Shown) -> None:
    ran = show({TRACE_TOPIC: TRACED, "T": STORED}, ID)
    assert (ran.code, ran.err) == (0, "")
    head, titles, *rows = ran.out.splitlines()
    sent = "normal message of 8 bytes to 127.0.0.1:10911"
    assert head == f"message {ID}, topic T, tag TagA, keys k1 k2"
    assert titles.split() == ["TIME", "(UTC)", "AFTER", "EVENT", "GROUP", "HOST", "COST", "RESULT", "DETAILS"]
    assert [re.split(" {2,}", row) for row in rows] == [
        ["2026-11-21 09:22:29.145", "+0 ms", "send", "pg", "10.0.0.7", "96 ms", "success", sent],
        ["2026-11-21 09:22:29.185", "+40 ms", "store", "127.0.0.1:10911", "T, broker b, queue 3, offset 17"],
        ["2026-11-21 09:22:29.195", "+50 ms", "consume", "cg", "10.0.0.7", "7 ms", "failed"],
        ["2026-11-21 09:22:30.205", "+1060 ms", "consume", "cg", "10.0.0.7", "3 ms", "success", "retry 1"],
    ]


def test_the_same_as_json(show: Shown) -> None:
    (found,) = show({TRACE_TOPIC: TRACED, "T": STORED}, ID, "--json").objects
    events = found.pop("events")
    assert found == {"message_id": ID, "topic": "T", "tags": "TagA", "keys": "k1 k2"}
    assert [(event["what"], event["result"], event["retries"]) for event in events] == [
        ("send", "success", None),
        ("store", None, None),
        ("consume", "failed", 0),
        ("consume", "success", 1),
    ]
    assert events[0] == {
        "what": "send",
        "time": START,
        "group": "pg",
        "host": "10.0.0.7",
        "cost": 96,
        "result": "success",
        "retries": None,
        "details": "normal message of 8 bytes to 127.0.0.1:10911",
    }


def events_of(show: Shown, *each: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    (found,) = show({TRACE_TOPIC: traces(reports(*each))}, ID, "--json").objects
    return [(e["what"], e["time"], e["group"], e["host"], e["result"], e["details"]) for e in found["events"]]


def test_reports_of_producers(show: Shown) -> None:
    common = (START + 5, "DefaultRegion", "pg", "T", ID)
    assert events_of(
        show,
        send(success="false", kind=1, more=("192.0.2.9",)),
        ("EndTransaction", *common, "TagA", "k1 k2", "127.0.0.1:10911", 1, "TX", "ROLLBACK_MESSAGE", "true"),
        ("EndTransaction", *common, "TagA", "k1 k2", "127.0.0.1:10911", 1, "TX", "ODD", "false"),
        ("Recall", *common, "true"),
    ) == [
        ("send", START, "pg", "192.0.2.9", "failed", "half message of 8 bytes to 127.0.0.1:10911"),
        ("transaction", START + 5, "pg", "10.0.0.7", "rollback", "asked by the broker"),
        ("transaction", START + 5, "pg", "10.0.0.7", "ODD", ""),
        ("recall", START + 5, "pg", "10.0.0.7", "success", ""),
    ]
    assert events_of(show, send(kind=9))[0][5] == "? message of 8 bytes to 127.0.0.1:10911"


def test_halves_of_consuming(show: Shown) -> None:
    assert events_of(
        show,
        end("r0", 4),
        begin("r1", START),
        end("r2", 4, 1, START + 10, "cg", success="false"),
        end("r3", 4, 0, START + 11, "cg", success="false"),
    ) == [
        ("consume", START, "cg", "10.0.0.7", "no end reported", ""),
        ("consume", START + 6, "cg", "10.0.0.7", "time-out", ""),
        ("consume", START + 7, "cg", "10.0.0.7", "failed", ""),
        ("consume", None, None, "10.0.0.7", "success", ""),
    ]


def test_the_messages_of_a_batch(show: Shown) -> None:
    both = f"{OTHER},{ID}"
    traced = record(TRACE_TOPIC, reports(send(both)), f"KEYS\x01{both}")
    traced += record(TRACE_TOPIC, reports(begin("r1", START + 50)), f"KEYS\x01{ID}", at=1000)
    (found,) = show({TRACE_TOPIC: traced, "T": STORED}, both, "--json").objects
    assert (found["message_id"], found["topic"]) == (both, "T")
    assert [event["what"] for event in found["events"]] == ["send", "store", "store", "consume"]
    (found,) = show({TRACE_TOPIC: traced, "T": STORED}, ID, "--json").objects
    assert [event["what"] for event in found["events"]] == ["consume"]


def test_by_the_offset_message_id(show: Shown) -> None:
    found = {TRACE_TOPIC: TRACED, "T": STORED}
    viewed = record("T", b"x", f"UNIQ_KEY\x01{ID}")
    assert show(found, "OFFSET ID", viewed=viewed).out == show(found, ID).out
    ran = show(found, "OFFSET ID")
    assert (ran.code, ran.out) == (1, "")


@pytest.mark.parametrize("message_id", [OTHER.replace("C0", "D0"), "no id"])
def test_a_message_without_traces(message_id: str, show: Shown) -> None:
    ran = show({TRACE_TOPIC: TRACED}, message_id)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"rocketwire: {message_id}: no trace in {TRACE_TOPIC}; clients leave traces only with enableMsgTrace, "
        "a few seconds after they sent or consumed\n"
    )
    assert show({TRACE_TOPIC: b""}, ID).code == 1


def test_another_trace_topic(show: Shown) -> None:
    assert show({"Mine": traces(reports(send()), topic="Mine")}, ID, "--topic", "Mine").code == 0
    ran = show({}, ID)
    assert (ran.code, ran.out) == (1, "")
    assert re.fullmatch(
        rf"rocketwire: topic {TRACE_TOPIC}: the name server 127.0.0.1:\d+ knows no such topic; clients leave .*\n",
        ran.err,
    )


def test_a_trace_that_cannot_be_read_is_one_line(show: Shown) -> None:
    ran = show({TRACE_TOPIC: traces(b"Pub\x01soon\x02")}, ID)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("rocketwire: the trace Pub with 1 fields cannot be read: ")
