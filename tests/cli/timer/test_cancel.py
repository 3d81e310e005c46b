"""Of `cancel`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocketwire.cli.times import shown
from rocketwire.store.layout.timer_check import CHECK_STRUCT
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.recall_handle import decode_recall_handle, encode_recall_handle
from tests.cli.endpoint import FakeAnswer
from tests.cli.timer.support import HOUR, RECALLED, Command, TimerBroker
from tests.store.offline.timers import NOW, made
from tests.store.support import Golden

DUE = 1795255556000
DONE = "2026-11-21 10:05:56.000 UTC, broker b"


@pytest.fixture
def server(golden_550: Golden) -> Iterator[TimerBroker]:
    found = TimerBroker(golden_550.untouched, {RequestCode.RECALL_MESSAGE: lambda _: FakeAnswer(ext={"msgId": "x"})})
    yield found
    found.close()


@pytest.fixture
def run(server: TimerBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(capsys, monkeypatch, "--namesrv", server.address)


def recalled(server: TimerBroker) -> list[dict[str, str]]:
    return [ext for code, ext in server.requests if code == RequestCode.RECALL_MESSAGE]


def test_by_its_handle(server: TimerBroker, run: Command) -> None:
    handle = encode_recall_handle("GoldenTimer", "b", DUE, HOUR).decode()
    ran = run("cancel", handle)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"cancelled: message {HOUR} of topic GoldenTimer, due {DONE}\n"
    assert recalled(server) == [{"topic": "GoldenTimer", "recallHandle": handle, "bname": "b"}]
    assert run("cancel", handle, "--json").objects == [
        {"topic": "GoldenTimer", "broker": "b", "message_id": HOUR, "due_time": DUE, "found": True}
    ]


@pytest.mark.parametrize(
    ("topic", "due", "key"),
    [
        ("GoldenTimer", DUE, "U"),
        ("T", DUE, HOUR),
        # A marker acts in one slot only: here the message is not.
        ("GoldenTimer", DUE + 5000, HOUR),
    ],
)
def test_a_handle_of_a_message_that_is_not_found(
    topic: str, due: int, key: str, server: TimerBroker, run: Command
) -> None:
    handle = encode_recall_handle(topic, "b", due, key).decode()
    ran = run("cancel", handle)
    assert (ran.code, ran.out, len(recalled(server))) == (1, "", 1)
    assert ran.err == (
        "rocketwire: noted by the broker, but no such message is found among those that wait: "
        f"message {key} of topic {topic}, due {shown(due)} UTC, broker b\n"
    )
    ran = run("cancel", handle, "--json")
    assert (ran.code, ran.objects[0]["found"]) == (1, False)
    assert ran.err


def test_a_message_that_cannot_be_looked_up(server: TimerBroker, run: Command) -> None:
    server.answers[RequestCode.QUERY_MESSAGE] = lambda _: FakeAnswer(1, remark="disk error")
    handle = encode_recall_handle("GoldenTimer", "b", DUE, HOUR).decode()
    ran = run("cancel", handle)
    assert (ran.code, ran.out, len(recalled(server))) == (1, "", 1)
    assert ran.err == (
        f"rocketwire: noted by the broker, but it could not be looked up (broker {server.address} answered code 1: "
        f"disk error): message {HOUR} of topic GoldenTimer, due {DONE}\n"
    )
    assert run("cancel", handle, "--json").objects[0]["found"] is None


def test_a_handle_is_sent_to_its_broker_only(server: TimerBroker, run: Command) -> None:
    assert run("cancel", encode_recall_handle("GoldenTimer", "b", DUE, HOUR).decode()).code == 0
    assert RequestCode.GET_BROKER_CLUSTER_INFO not in [code for code, _ in server.requests]


def test_by_its_id(server: TimerBroker, run: Command) -> None:
    ran = run("cancel", "--topic", "GoldenTimer", "--id", HOUR)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"cancelled: message {HOUR} of topic GoldenTimer, due {DONE}\n"
    (requested,) = recalled(server)
    assert decode_recall_handle(requested["recallHandle"]) == ("GoldenTimer", "b", DUE, HOUR)
    # One that is cancelled already may be so again.
    assert run("cancel", "--topic", "GoldenRecall", "--id", RECALLED).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "cancel: name a message by HANDLE, or by --topic and --id"),
        (["H", "--topic", "T", "--id", "U"], 2, "cancel: name a message by HANDLE, or by --topic and --id"),
        (["--topic", "T"], 2, "cancel: name a message by HANDLE, or by --topic and --id"),
        (["H", "--id", "U"], 2, "cancel: name a message by HANDLE, or by --topic and --id"),
        (["%"], 2, "recall handle is invalid"),
        (["--topic", "T", "--id", "Nobody"], 1, "Nobody: no such message of topic T has waited"),
        (["--topic", "T", "--id", HOUR], 1, f"{HOUR}: no such message of topic T has waited"),
        (
            [encode_recall_handle("T", "c", 1, "U").decode()],
            1,
            "topic T: no broker c has it, where the message waits",
        ),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], code: int, text: str, server: TimerBroker, run: Command) -> None:
    ran = run("cancel", *arguments)
    assert (ran.code, ran.out, ran.err) == (code, "", f"rocketwire: {text}\n")
    assert recalled(server) == []


def test_what_the_broker_refuses(server: TimerBroker, run: Command) -> None:
    server.answers[RequestCode.RECALL_MESSAGE] = lambda _: FakeAnswer(604, remark="recall failed, timestamp invalid")
    ran = run("cancel", encode_recall_handle("T", "b", 1, "U").decode())
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"rocketwire: broker {server.address} answered code 604: recall failed, timestamp invalid\n"


def test_messages_that_wait_no_more_or_have_one_id(tmp_path: Path, timer: Callable[..., Command]) -> None:
    root = tmp_path / "store"
    with made(root) as timers:
        timers.add(NOW + 3000, key="Same")
        timers.add(NOW + 4000, key="Same")
        timers.index.queue_offset = 2
        timers.save()
    server = TimerBroker(root, {})
    run = timer("--namesrv", server.address)
    ran = run("cancel", "--topic", "T", "--id", "Same")
    assert ran.err == "rocketwire: Same: 2 messages of topic T with this id wait; use their handles\n"
    check = CHECK_STRUCT.pack(NOW + 9000, 0, 2, 2, 0, 0, 1)
    server.answers[RequestCode.GET_TIMER_CHECK_POINT] = lambda _: FakeAnswer(body=check)
    ran = run("cancel", "--topic", "T", "--id", "Same")
    assert ran.err == "rocketwire: Same: waits no more, it was due 2023-11-14 22:13:24.000 UTC\n"
    assert (ran.code, ran.out, recalled(server)) == (1, "", [])
    server.close()
