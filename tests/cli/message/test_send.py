"""`message send` against a real server, and one that throttles."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rocketwire.remoting.connection import BlockingConnection
from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import Addresses, Answers, Command, FakeAnswer, fake_server, real_endpoint
from tests.cli.message.support import SECONDS, Rocketwire, Running, exported, give_stdin
from tests.cli.store.support import Ran
from tests.cli.store.terminal import Terminal
from tests.server.processes import Caller, eventually


def test_bodies_with_all_that_they_can_have(run: Rocketwire, topic: str) -> None:
    ran = run(
        *("message", "send", topic, "hello", "wörld", "--key", "a", "--key", "b", "--tag", "T"),
        *("--property", "p=1=2", "--property", "q=x", "--queue", 1),
    )
    assert (ran.code, ran.err) == (0, "")
    found = exported(run, topic)
    assert ran.out.splitlines() == [f"{one['message_id']}  broker-a  1/{n}" for n, one in enumerate(found)]
    assert [one["body"] for one in found] == ["hello", "wörld"]
    for one in found:
        assert (one["tags"], one["keys"], one["queue_id"]) == ("T", ["a", "b"], 1)
        assert {name: one["properties"][name] for name in "pq"} == {"p": "1=2", "q": "x"}
        assert len(one["message_id"]) == 32


def test_lines_of_stdin(run: Rocketwire, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin(monkeypatch, b"one\n\ntwo \xff\r\nlast")
    ran = run("message", "send", topic, "--queue", 0, "--json", "--input", "lines")
    assert (ran.code, ran.err) == (0, "")
    assert [(one["queue_id"], one["queue_offset"], one["code"]) for one in ran.objects] == [
        (0, 0, 0),
        (0, 1, 0),
        (0, 2, 0),
    ]
    found = exported(run, topic)
    assert [one["body"] for one in found] == ["one", None, "last"]
    assert [one["offset_message_id"] for one in found] == [one["offset_message_id"] for one in ran.objects]


def test_files_and_counts(run: Rocketwire, topic: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a\nb\n")
    (tmp_path / "b").write_bytes(b"x" * 10_000)
    ran = run("message", "send", topic, "--file", tmp_path / "a", "--file", tmp_path / "b", "--count", 3, "--quiet")
    assert ran == Ran(0, "", "")
    found = exported(run, topic)
    assert Counter(one["body"] for one in found) == {"a\nb\n": 3, "x" * 10_000: 3}
    assert len({one["message_id"] for one in found}) == 6
    assert {one["store_size"] < 1000 for one in found} == {True}  # the large one is compressed


def test_order_keys_and_batches(run: Rocketwire, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = list(range(500))
    for key in ("first", "second", "third"):
        give_stdin(monkeypatch, b"".join(b"%s %d\n" % (key.encode(), n) for n in numbers))
        ran = run("message", "send", topic, "--order-key", key, "--batch", 7)
        assert (ran.code, len(ran.out.splitlines())) == (0, 500)
    found = exported(run, topic)
    for key in ("first", "second", "third"):
        own = [one for one in found if one["properties"]["__SHARDINGKEY"] == key]
        assert len({one["queue_id"] for one in own}) == 1
        assert [one["body"] for one in own] == [f"{key} {n}" for n in numbers]


def test_many_lines_take_seconds(run: Rocketwire, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin(monkeypatch, b"".join(b"%d\n" % n for n in range(6_000)))
    began = time.monotonic()
    ran = run("message", "send", topic, "--quiet")
    assert time.monotonic() - began < 60
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("rocketwire: 6,000 messages stored in ")
    found = exported(run, topic)
    assert {int(one["body"]) for one in found} == set(range(6_000))
    queues = Counter(one["queue_id"] for one in found)
    assert min(queues[0], queues[1]) > 2_500  # whole requests go to one queue


def test_stdin_without_messages_is_reported(run: Rocketwire, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin(monkeypatch, b"\n\n")
    ran = run("message", "send", topic)
    assert ran == Ran(1, "", "rocketwire: stdin has no messages: nothing is sent\n")


def test_lines_that_come_together_are_sent_together(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    give_stdin(monkeypatch, b"a line\n" * 1000)
    reported = FakeAnswer(ext={"msgId": "0" * 32, "queueId": "0", "queueOffset": "0"})
    with fake_server({RequestCode.SEND_BATCH_MESSAGE: lambda _: reported}) as server:
        ran = Command(capsys, server.address)("message", "send", "T", "--queue", 0, "--quiet")
        sends = [requested for requested, _ in server.requests if requested == RequestCode.SEND_BATCH_MESSAGE]
    assert (ran.code, len(sends)) == (0, 4)


@pytest.mark.parametrize("option", [["--delay", "1"], ["--delay", "90s"], ["--property", "TIMER_DELAY_SEC=5"]])
def test_a_delayed_message_has_no_place_yet(option: list[str], run: Rocketwire, topic: str) -> None:
    assert run("message", "send", topic, "x", *option).out.split()[1:] == ["broker-a", "delayed"]
    (one,) = run("message", "send", topic, "x", "--json", *option).objects
    assert (one["queue_id"], one["queue_offset"]) == (None, None)


def test_progress_on_a_terminal(run: Rocketwire, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("rocketwire.cli.message.results._EVERY_SECONDS", 0.0)
    assert run("message", "send", topic, "x", "--count", 20, "--quiet").code == 0
    assert terminal.getvalue().startswith("\r\x1b[K1 message stored, ")
    assert "\r\x1b[K20 messages stored, " in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_lines_are_sent_as_they_come(endpoint: Addresses, topic: str) -> None:
    arguments = ("message", "send", topic, "--namesrv", endpoint.name_server)
    with Running(*arguments, stdin=subprocess.PIPE) as running:
        assert running.popen.stdin is not None
        for number in range(3):
            running.popen.stdin.write(b"%d\n" % number)
            running.popen.stdin.flush()
            assert "  broker-a  " in running.line()
        running.popen.stdin.close()
        assert running.popen.wait(SECONDS) == 0


def test_a_connection_that_was_idle_is_not_used(
    run: Rocketwire, endpoint: Addresses, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a broker closed it meanwhile."""
    monkeypatch.setattr("rocketwire.cli.message.sending._IDLE_SECONDS", 0.05)
    made = []
    connect = BlockingConnection.__init__

    def count(self: BlockingConnection, what: str, *arguments: Any, **more: Any) -> None:
        made.append(what)
        connect(self, what, *arguments, **more)

    monkeypatch.setattr(BlockingConnection, "__init__", count)
    assert run("message", "send", topic, "a", "b", "c", "--rate", "5/s", "--quiet").code == 0
    assert made.count("broker") == 3
    assert len(exported(run, topic)) == 3


def test_a_rate(run: Rocketwire, topic: str) -> None:
    began = time.monotonic()
    assert run("message", "send", topic, "x", "--count", 6, "--rate", "20/s", "--quiet").code == 0
    assert time.monotonic() - began >= 0.25
    assert run("message", "send", topic, "x", "--rate", "soon").err.startswith("rocketwire: --rate soon: expected")


def test_delays_and_times(run: Rocketwire, topic: str) -> None:
    for option in (("--delay", 1), ("--delay", "1s"), ("--at", int(time.time() * 1000) + 1500)):
        assert run("message", "send", topic, "later", *option).code == 0
    assert exported(run, topic) == []
    assert eventually(lambda: len(exported(run, topic)) == 3)


def test_a_broker_without_a_timer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with real_endpoint(tmp_path / "store", timer_wheel_enable=False) as addresses:
        with Caller(str(addresses.broker)) as caller:
            caller.create_topic("T")
        run = Command(capsys, str(addresses.name_server))
        ran = run("message", "send", "T", "x", "--at", "2030-01-01")
        assert ran == Ran(
            1, "", "rocketwire: --at: broker broker-a has no timer, and would deliver the message at once\n"
        )
        assert run("message", "send", "T", "x", "--delay", "10s").code == 0
        ran = run("message", "send", "T", "x", "--delay", "11s")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("rocketwire: --delay 11s: broker broker-a has no timer, and no delay level of this")
        assert "1s 5s 10s 30s 1m 2m" in ran.err


def test_the_first_message_creates_its_topic_as_clients_do(run: Rocketwire) -> None:
    ran = run("message", "send", "Created", "first", "--delay", "1ms", "--queue", "3")
    note = "rocketwire: topic Created does not exist: the first message creates it\n"
    assert (ran.code, ran.out.split()[1:], ran.err) == (0, ["broker-a", "delayed"], note)
    assert run("message", "send", "Created", "second").err == ""


def test_where_no_topic_is_created_a_missing_one_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with real_endpoint(tmp_path, auto_create_topic_enable=False) as addresses:
        ran = Command(capsys, str(addresses.name_server))("message", "send", "Nope", "x")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == f"rocketwire: topic Nope: the name server {addresses.name_server} knows no such topic\n"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["T", "x", "--queue", "2"], 1, "--queue 2: topic T has the queues 0 to 1"),
        (["T", "x", "--property", "a"], 2, "--property a: expected NAME=VALUE"),
        (["T", "x", "--key", "a b"], 2, "--key 'a b': a key has no blanks"),
        (["T", "x", "--delay", "1", "--at", "2030"], 2, "--delay and --at: only one of them"),
        (["T", "x", "--delay", "soon"], 2, "--delay soon: expected a duration"),
        (["T", "x", "--order-key", "a", "--queue", "0"], 2, "--order-key and --queue: only one of them"),
        (["T", "x", "--input", "json"], 2, "--input: only for stdin"),
        (["T", "--file", "/none"], 2, "--file /none: it cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_option_is_one_line(
    arguments: list[str], code: int, text: str, run: Rocketwire, endpoint: Addresses
) -> None:
    with Caller(str(endpoint.broker)) as caller:
        caller.create_topic("T", 2)
    ran = run("message", "send", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"rocketwire: {text}")
    assert ran.err.count("\n") == 1


def test_a_message_that_is_refused_does_not_stop_the_others(run: Rocketwire, topic: str) -> None:
    ran = run("message", "send", topic, "x" * 30_000, "fine", "--property", f"p={'y' * 33_000}")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("is not stored: broker ") == 2
    assert run("message", "send", topic, "fine").code == 0


class Throttling:
    """Answers to sends: so many are refused with a code, then all are stored."""

    def __init__(self, code: int, refused: int) -> None:
        self.code = code
        self.left = refused
        self.stored: list[str] = []

    def __call__(self, ext: dict[str, str]) -> FakeAnswer:
        if self.left:
            self.left -= 1
            return FakeAnswer(self.code, remark="too much")
        self.stored.append(ext["i"])
        return FakeAnswer(ext={"msgId": "0" * 32, "queueId": ext["e"], "queueOffset": str(len(self.stored))})


@pytest.mark.parametrize("code", [2, 215])
@pytest.mark.parametrize("more", [[], ["--queue", "0"]])
def test_what_is_throttled_is_sent_again(
    code: int, more: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    throttling = Throttling(code, 5)
    give_stdin(monkeypatch, b"".join(b"%d\n" % n for n in range(50)))
    with fake_server({RequestCode.SEND_MESSAGE_V2: throttling}) as server:
        ran = Command(capsys, server.address)("message", "send", "T", "--batch", 1, *more)
        sends = [ext for requested, ext in server.requests if requested == RequestCode.SEND_MESSAGE_V2]
    assert (ran.code, len(ran.out.splitlines()), len(sends)) == (0, 50, 55)
    assert len({ext["i"] for ext in sends}) == 50
    first, last = ran.err.splitlines()
    assert first == f"rocketwire: broker {server.address} answered code {code}: too much; sending more slowly"
    assert last.endswith(", 5 of them throttled and sent again")
    if more:
        ids = [ext["i"] for ext in sends]
        assert list(dict.fromkeys(ids)) == throttling.stored


def test_a_lost_connection_reports_what_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    answers: Answers = {
        RequestCode.SEND_MESSAGE_V2: lambda ext: Throttling(0, 0)(ext) if ext["e"] == "0" else b"\0\0\0\0junk"
    }
    with fake_server(answers) as server:
        ran = Command(capsys, server.address)("message", "send", "T", "a", "b", "c")
    assert ran.code == 3
    first, last = ran.err.splitlines()
    assert "it is not known: sending them again may double them" in first
    assert last.startswith(f"rocketwire: broker {server.address}")
