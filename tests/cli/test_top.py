"""`top` against a real server: once, and live on a pseudo-terminal with keys and changes of its size."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from rocketwire.cli.top.sample import GROUPS_AT_ONCE, TOPICS_AT_ONCE, ClusterSample, GroupOffsets, QueuePlace, Sampler
from rocketwire.cli.top.screen import GROUPS, TOPICS, ScreenState
from rocketwire.cli.top.traffic import ClusterTraffic, RateMeter
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import Addresses, Answers, Command, FakeAnswer, fake_server, real_endpoint
from tests.server.processes import ROOT, Caller

SECONDS = 60.0


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Addresses]:
    """The topics Busy, of which the group G is 15 messages behind, and Quiet."""
    with real_endpoint(tmp_path / "top") as addresses:
        with Caller(str(addresses.broker)) as caller:
            caller.create_topic("Busy", 2)
            caller.create_topic("Quiet")
            for number in range(20):
                caller.send("Busy", b"x", queue_id=number % 2)
            caller.send("Quiet", b"x")
            for queue_id, offset in ((0, 3), (1, 2)):
                fields = {"consumerGroup": "G", "topic": "Busy", "queueId": str(queue_id), "commitOffset": str(offset)}
                assert caller.request(RequestCode.UPDATE_CONSUMER_OFFSET, fields).header.code == 0
            group = b'{"groupName": "G", "retryMaxTimes": 16}'
            assert caller.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=group).header.code == 0
        yield addresses


def test_once_as_json(endpoint: Addresses, capsys: pytest.CaptureFixture[str]) -> None:
    run = Command(capsys, str(endpoint.name_server))
    ran = run("top", "--json", "--interval", 0.2)
    assert (ran.code, ran.err) == (0, "")
    (found,) = ran.objects
    assert [broker["broker"] for broker in found["brokers"]] == ["broker-a"]
    assert found["brokers"][0]["problem"] is None
    topics = {topic["topic"]: topic for topic in found["topics"]}
    assert set(topics) == {"Busy", "Quiet"}
    assert topics["Busy"] == {
        "topic": "Busy",
        "rate_in": 0.0,
        "rate_out": 0.0,
        "messages": 20,
        "queues": 2,
        "groups": 1,
    }
    (group,) = found["groups"]
    queues = group.pop("queues")
    assert group == {"group": "G", "rate": 0.0, "lag": 15, "members": 0, "topics": ["Busy"]}
    assert [(each["queue_id"], each["offset"], each["end"], each["lag"]) for each in queues] == [
        (0, 3, 10, 7),
        (1, 2, 10, 8),
    ]
    everything = run("top", "--json", "--all", "--interval", 0.2).objects[0]
    assert "TBW102" in [topic["topic"] for topic in everything["topics"]]


def test_once_as_tables(endpoint: Addresses, capsys: pytest.CaptureFixture[str]) -> None:
    ran = Command(capsys, str(endpoint.name_server))("top", "--interval", 0.2)
    assert (ran.code, ran.err) == (0, "")
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["Busy", "0.0", "0.0", "20", "2", "1"] in rows
    assert ["G", "0.0", "15", "0", "Busy"] in rows


def test_a_missing_endpoint(capsys: pytest.CaptureFixture[str]) -> None:
    assert Command(capsys, "127.0.0.1:1")("top", "--once").code == 3


def controlled() -> None:
    """Make stdin the terminal that controls the session: it sends signals of keys and of its size."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Screen:
    """`rocketwire top` on a pseudo-terminal, and what it has written last."""

    def __init__(self, endpoint: Addresses, *, lines: int, columns: int) -> None:
        self.text = ""
        arguments = ["top", "--interval", "0.2", "--namesrv", str(endpoint.name_server)]
        self._terminal, theirs = pty.openpty()
        self.resize(lines, columns)
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "rocketwire", *arguments],
            cwd=ROOT,
            # Workers of pytest have COLUMNS, which would count instead of the terminal's size.
            env={**{name: text for name, text in os.environ.items() if name != "COLUMNS"}, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=controlled,  # noqa: PLW1509 - one call of the system, nothing else
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._popen.kill()
        self._popen.wait(SECONDS)
        os.close(self._terminal)

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        self.text = ""
        os.write(self._terminal, keys)

    def shows(self, pattern: str) -> str:
        """Wait until the screen, without its colours, has a text."""
        end = time.monotonic() + SECONDS
        while (found := re.search(pattern, re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.text))) is None:
            assert time.monotonic() < end, f"{pattern!r} is not in {self.text!r}"
            self.read()
        return found[0]

    def read(self) -> None:
        if select.select([self._terminal], [], [], 0.1)[0]:
            with contextlib.suppress(OSError):  # the program has ended
                self.text += os.read(self._terminal, 1 << 16).decode("utf-8", "replace")

    def end(self) -> int:
        """The exit code of a program that ends without a signal."""
        end = time.monotonic() + SECONDS
        while self._popen.poll() is None:
            assert time.monotonic() < end
            self.read()
        self.read()
        return self._popen.returncode


def test_live_with_keys_and_another_size(endpoint: Addresses) -> None:
    with Screen(endpoint, lines=24, columns=90) as screen:
        screen.shows(r"broker-a +V4_9_7")
        screen.shows(r"TOPIC \(by in/s\)")
        screen.shows(r"QUEUES OF Busy")
        screen.shows(r"G +Busy +0\.0 +15 ")
        screen.press(b"\x1b[B")
        screen.shows(r"QUEUES OF Quiet")
        screen.press(b"\x1b[A")
        screen.shows(r"QUEUES OF Busy")
        screen.press(b"s")
        screen.shows(r"TOPIC \(by out/s\)")
        screen.press(b"\t")
        screen.shows(r"QUEUES OF G")
        screen.shows(r"Busy +broker-a +1 +2 +10 +8 +0\.0")
        screen.press(b"")
        screen.resize(15, 60)
        screen.shows(r"\n?G +Busy +0\.0 +15 +0\s")
        screen.shows(r"BROKER[^\n]{50}DISK")  # a line of 60 characters
        with Caller(str(endpoint.broker)) as caller:
            for _ in range(5):
                caller.send("Busy", b"x")
        screen.press(b"\t")
        screen.shows(r"Busy +broker-a +0 +- +15 ")
        screen.press(b"q")
        assert screen.end() == 0
        assert "\x1b[?1049l" in screen.text  # the former content of the terminal is back


def test_ctrl_c_ends_it(endpoint: Addresses) -> None:
    with Screen(endpoint, lines=24, columns=90) as screen:
        screen.shows("QUEUES OF")
        screen.press(b"\x03")
        assert screen.end() == 130


def test_rates_are_means_of_ten_seconds() -> None:
    meter = RateMeter()
    rates = [meter.rate]
    seen = [(0, 100), (5, 200), *((time_, 200) for time_ in range(6, 30)), (31, 50), (32, 60)]
    for time_, value in seen:
        meter.observe(time_, value)
        rates.append(meter.rate)
    assert rates[:3] == [None, None, 20]
    # The number became less: an offset was reset.
    assert rates[-3:] == [0, None, 10]


def sample(time_: float, consumed: int, end: int) -> ClusterSample:
    place = QueuePlace("T", "b", 0)
    return ClusterSample(
        time_, topics=["T", "Other"], groups={"G": {place: GroupOffsets(consumed, end)}}, runtime={"b": {}}
    )


def test_traffic_of_two_samples() -> None:
    traffic = ClusterTraffic()
    traffic.add(sample(0, 10, 20))
    traffic.add(sample(2, 14, 40))
    other, topic = sorted(traffic.topics, key=lambda row: row.topic)
    assert (topic.rate_in, topic.rate_out, topic.groups) == (10, 2, 1)
    assert (other.rate_in, other.rate_out, other.queues) == (None, None, 0)
    (group,) = traffic.groups
    assert (group.rate, group.lag, group.members) == (2, 26, None)
    state = ScreenState()
    assert (state.current(traffic), state.focus) == ("T", TOPICS)
    state.press("down", traffic)
    state.press("down", traffic)
    assert state.current(traffic) == "Other"
    state.press("tab", traffic)
    assert (state.current(traffic), state.focus) == ("G", GROUPS)


@pytest.fixture
def many() -> Iterator[tuple[Sampler, Callable[[], int]]]:
    """A sampler of a broker with 100 topics, and how many requests it has had."""
    topics = b'{"topicList": [%s]}' % b",".join(b'"T%d"' % n for n in range(100))
    with fake_server() as server:
        answers: Answers = {
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: lambda _: FakeAnswer(body=topics),
            RequestCode.GET_ROUTEINFO_BY_TOPIC: lambda _: server.route("T"),
            RequestCode.GET_BROKER_RUNTIME_INFO: lambda _: FakeAnswer(body=b'{"table": {"putTps": "7.5 1 1"}}'),
            RequestCode.GET_BROKER_CONSUME_STATS: lambda _: FakeAnswer(1, remark="no"),
            RequestCode.GET_TOPIC_STATS_INFO: lambda _: FakeAnswer(body=b'{"offsetTable": {}}'),
        }
        server.answers.update(answers)
        requested = [RequestCode.GET_TOPIC_STATS_INFO, RequestCode.GET_CONSUMER_CONNECTION_LIST]
        with BlockingCluster(server.address) as cluster:
            yield Sampler(cluster, in_parts=True), lambda: sum(code in requested for code, _ in server.requests)


def test_few_requests_a_refresh(many: tuple[Sampler, Callable[[], int]]) -> None:
    sampler, requests = many
    for number in range(1, 4):
        traffic = ClusterTraffic()
        traffic.add(sampler.take())
        assert requests() <= number * (TOPICS_AT_ONCE + GROUPS_AT_ONCE)
    (broker,) = traffic.brokers
    assert broker.put_tps == 7.5
    assert broker.problem is not None
    assert broker.problem.startswith("no progress of groups: broker 127.0.0.1:")
    assert broker.problem.endswith(" answered code 1: no")
