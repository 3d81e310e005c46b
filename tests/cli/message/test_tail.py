"""`message tail` against a real server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import Addresses, Command, FakeAnswer, fake_server, real_endpoint
from tests.cli.message.support import SECONDS, Running
from tests.cli.store.support import Ran
from tests.server.harness import topic_ext
from tests.server.processes import Caller, process

QUERY_CONSUMER_OFFSET = 14


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """The topic T has 30 messages in two queues, whose tags Aa and BB have the same hash code."""
    with real_endpoint(tmp_path_factory.mktemp("tail"), enable_property_filter=True) as addresses:
        with Caller(str(addresses.broker)) as caller:
            caller.create_topic("T", 2)
            caller.create_topic("Empty")
            for number in range(30):
                tag = ("Aa", "BB", "C")[number % 3]
                text = f"UNIQ_KEY\x01U{number:07d}\x02TAGS\x01{tag}\x02KEYS\x01k{number} all\x02n\x01{number}"
                caller.send("T", b"body %d" % number, queue_id=number % 2, properties=text)
        yield addresses


@pytest.fixture
def tail(endpoint: Addresses, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    command = Command(capsys, str(endpoint.name_server))
    return lambda *arguments: command("message", "tail", *arguments)


def bodies(ran: Ran) -> list[int]:
    assert (ran.code, ran.err) == (0, "")
    return [int(line.removeprefix("body ")) for line in ran.out.splitlines()]


def test_the_last_messages_in_the_order_of_their_times(tail: Callable[..., Ran]) -> None:
    ran = tail("T", "--json")
    found = ran.objects
    assert [one["store_timestamp"] for one in found] == sorted(one["store_timestamp"] for one in found)
    # Within one millisecond the queues come one after the other.
    assert max(one["queue_offset"] for one in found if one["queue_id"] == 1) == 14
    assert len(found) == 10
    assert set(bodies(tail("T", "-n", 30, "--body"))) == set(range(30))
    assert len(bodies(tail("T", "-n", 100, "--body"))) == 30
    assert bodies(tail("T", "-n", 3, "--queue", 1, "--body")) == [25, 27, 29]


def test_a_line_for_people(tail: Callable[..., Ran]) -> None:
    ran = tail("T", "-n", 1, "--queue", 0)
    time_, rest = ran.out[:23], ran.out[23:]
    assert len(time_.split()) == 2
    assert rest.split() == ["0/14", "BB", "k28,all", "body", "28"]
    assert len(ran.out.splitlines()) == 1


def test_from_a_place_on(tail: Callable[..., Ran]) -> None:
    assert len(bodies(tail("T", "--from", "earliest", "--body"))) == 30
    assert set(bodies(tail("T", "--from", 13, "--body"))) == {26, 27, 28, 29}
    ran = tail("T", "--from", "latest")
    assert (ran.code, ran.out) == (1, "")
    times = sorted(one["store_timestamp"] for one in tail("T", "--from", "earliest", "--json").objects)
    later = tail("T", "--from", times[20], "--json").objects
    assert len(later) == sum(each >= times[20] for each in times)
    assert len(bodies(tail("T", "--from", "earliest", "--count", 7, "--body"))) == 7


def test_filters(tail: Callable[..., Ran]) -> None:
    assert set(bodies(tail("T", "--from", "earliest", "--tag", "Aa", "--body"))) == set(range(0, 30, 3))
    assert set(bodies(tail("T", "--tag", "Aa || C", "-n", 100, "--body"))) == set(range(30)) - set(range(1, 30, 3))
    assert set(bodies(tail("T", "--sql", "n > 26", "--from", "earliest", "--body"))) == {27, 28, 29}
    assert bodies(tail("T", "--key", "k17", "--from", "earliest", "--body")) == [17]
    assert bodies(tail("T", "--key", "U0000003", "-n", 1, "--body")) == [3]
    assert len(bodies(tail("T", "--key", "all", "-n", 12, "--body"))) == 12
    assert bodies(tail("T", "--tag", "C", "-n", 1, "--queue", 1, "--body")) == [29]


def committed(endpoint: Addresses, group: str, queue_id: int) -> str | None:
    fields = {"consumerGroup": group, "topic": "T", "queueId": str(queue_id), "setZeroIfNotFound": "false"}
    with Caller(str(endpoint.broker)) as caller:
        answer = caller.request(QUERY_CONSUMER_OFFSET, fields)
    return (answer.header.ext or {}).get("offset")


def test_the_offsets_of_a_group(tail: Callable[..., Ran], endpoint: Addresses) -> None:
    assert len(bodies(tail("T", "--from", "earliest", "--queue", 0, "--group", "G", "--count", 4, "--body"))) == 4
    assert (committed(endpoint, "G", 0), committed(endpoint, "G", 1)) == ("4", None)
    assert bodies(tail("T", "--from", "earliest", "--queue", 0, "--group", "G", "--count", 2, "--body")) == [8, 10]
    # Where it has none, from the end on.
    assert set(bodies(tail("T", "--group", "G", "--body"))) == set(range(12, 30, 2))
    assert committed(endpoint, "G", 0) == "15"
    assert tail("T", "--group", "G").code == 1


def test_other_reads_touch_no_group(tail: Callable[..., Ran], endpoint: Addresses) -> None:
    assert tail("T", "--from", "earliest").code == 0
    assert committed(endpoint, "TOOLS_CONSUMER", 0) is None


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["Nope"], 1, "topic Nope: the name server"),
        (["T", "--queue", "2"], 1, "--queue 2: topic T has the queues 0 to 1"),
        (["T", "--from", "soon"], 2, "--from soon: expected ISO 8601"),
        (["T", "--tag", "A", "--sql", "a = 1"], 2, "--tag and --sql: only one of them"),
        (["T", "-n", "1", "--from", "0"], 2, "-n: not with --from or --group"),
        (["T", "--body", "--json"], 2, "--body and --json: only one of them"),
        (["T", "--sql", "a ="], 1, "broker "),
    ],
)
def test_a_wrong_option_is_one_line(arguments: list[str], code: int, text: str, tail: Callable[..., Ran]) -> None:
    ran = tail(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"rocketwire: {text}"), ran.err
    assert ran.err.count("\n") == 1


def test_nothing_there_is_code_1(tail: Callable[..., Ran]) -> None:
    assert tail("Empty") == Ran(1, "", "")


def test_new_messages_and_new_queues_are_followed(endpoint: Addresses) -> None:
    with Caller(str(endpoint.broker)) as caller:
        caller.create_topic("F", 1)
        caller.send("F", b"first")
        with Running(
            "message", "tail", "F", "-f", "--from", "earliest", "--json", "--namesrv", endpoint.name_server
        ) as run:
            assert run.object()["body"] == "first"
            caller.send("F", b"second")
            found = run.object()
            assert (found["body"], found["queue_offset"], found["broker"]) == ("second", 1, "broker-a")
            assert caller.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext("F", 2)).header.code == 0
            caller.send("F", b"elsewhere", queue_id=1)
            found = run.object()
            assert (found["body"], found["queue_id"]) == ("elsewhere", 1)
            assert run.error() == "rocketwire: F, broker broker-a: queue 1 is new"
            assert run.ctrl_c() == 130
            assert run.errors() == []


def test_only_what_is_selected_and_new_is_followed(endpoint: Addresses) -> None:
    arguments = ("message", "tail", "N", "-f", "--tag", "x", "--body", "--count", 2, "--namesrv", endpoint.name_server)
    with Caller(str(endpoint.broker)) as caller:
        caller.create_topic("N")
        caller.send("N", b"before", tags="x")
        with Running(*arguments) as run:
            # It is not known when it has queried the end: what it prints shows it.
            number = 0
            while run.popen.poll() is None and number < 1000:
                caller.send("N", b"other %d" % number, tags="y")
                caller.send("N", b"new %d" % number, tags="x")
                number += 1
                time.sleep(0.05)
            first, second = run.line(), run.line()
            assert run.popen.wait(SECONDS) == 0
    assert first.startswith("new ")
    assert int(second.split()[1]) == int(first.split()[1]) + 1


def test_a_restart_is_survived_and_reported(tmp_path: Path) -> None:
    with process(tmp_path / "store") as first:
        with Caller(first.broker) as caller:
            caller.create_topic("T")
            caller.send("T", b"before")
        with Running("message", "tail", "T", "-f", "-n", 1, "--body", "--namesrv", first.name_server) as run:
            assert run.line() == "before"
            first.end()
            assert run.error().endswith("; trying again until broker-a is back")
            with process(tmp_path / "store", name_server=first.name_server, broker=first.broker):
                with Caller(first.broker) as caller:
                    caller.send("T", b"after")
                assert run.line() == "after"
                assert run.error() == "rocketwire: broker broker-a is back"
                assert run.ctrl_c() == 130
            assert run.errors() == []


def test_a_refusal_ends_following(capsys: pytest.CaptureFixture[str]) -> None:
    answers: dict[int, Any] = {
        RequestCode.GET_MIN_OFFSET: lambda _: FakeAnswer(ext={"offset": "0"}),
        RequestCode.GET_MAX_OFFSET: lambda _: FakeAnswer(ext={"offset": "0"}),
        RequestCode.PULL_MESSAGE: lambda _: FakeAnswer(16, remark="the broker pulling message is forbidden"),
    }
    with fake_server(answers) as server:
        ran = Command(capsys, server.address)("message", "tail", "T", "-f")
    assert (ran.code, ran.out) == (1, "")
    assert "answered code 16: the broker pulling message is forbidden" in ran.err
