"""Topics and groups by the ten thousand: the cost of one more, and that a kill loses none of the answered ones."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.processes import cpu_seconds
from rocketwire.wire.frame import Frame
from tests.server.harness import consumer, heartbeat, send_ext, subscription, topic_ext
from tests.server.processes import Caller, Process, eventually, process
from tests.slowness import slowness

OPTIONS = ("--set", "maxTopics=1000000", "--set", "maxGroups=1000000", "--log-level", "warning")
MS = 0.001


def answer(client: Caller, code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> Frame:
    """A successful answer; requests of the server are ignored meanwhile."""
    client.write(client.frame(code, ext, body))
    while True:
        frame = client.receive()
        if frame.header.flag & 1:
            assert frame.header.code == 0, frame.header
            return frame


def by_command(client: Caller, name: str) -> None:
    answer(client, 17, topic_ext(name))


def by_command_again(client: Caller, name: str) -> None:
    answer(client, 17, topic_ext("T1", 1 + len(name) % 3))


def by_send(client: Caller, name: str) -> None:
    answer(client, 310, send_ext(name), b"body")


def by_heartbeat(client: Caller, name: str) -> None:
    answer(client, 34, {}, heartbeat("one", consumer(name, subscription("T1"))))


def group_by_command(client: Caller, name: str) -> None:
    answer(client, 200, {}, json.dumps({"groupName": name}).encode())


WAYS = (by_command, by_command_again, by_send, by_heartbeat, group_by_command)


def with_topics(store: Path, count: int) -> Path:
    """A store whose files name so many topics, and half as many groups, as Apache's broker leaves them."""
    config = store / "config"
    config.mkdir(parents=True)
    tables = {
        "topics": ("topicConfigTable", [f"T{number}" for number in range(count)], ("topicName", "perm", 6)),
        "subscriptionGroup": (
            "subscriptionGroupTable",
            [f"G{number}" for number in range(count // 2)],
            ("groupName", "retryMaxTimes", 16),
        ),
    }
    for file, (table, names, (key, other, value)) in tables.items():
        entries = ",".join(f'\n\t\t"{n}":{{\n\t\t\t"{other}":{value},\n\t\t\t"{key}":"{n}"\n\t\t}}' for n in names)
        text = f'{{\n\t"dataVersion":{{\n\t\t"counter":1,\n\t\t"timestamp":1\n\t}},\n\t"{table}":{{{entries}\n\t}}\n}}'
        (config / f"{file}.json").write_text(text)
    return store


def cost(server: Process, client: Caller, way: Callable[[Caller, str], None], rounds: int) -> float:
    """Processor time in seconds for one more; the least of some tries."""
    took = []
    for part in range(3):
        before = cpu_seconds(server.pid)
        for number in range(rounds):
            way(client, f"{way.__name__}-{part}-{number}")
        took.append((cpu_seconds(server.pid) - before) / rounds)
    return min(took)


@pytest.mark.slow
def test_a_new_topic_or_group_costs_the_same_however_many_exist(tmp_path: Path) -> None:
    took: dict[tuple[int, str], float] = {}
    for count in (100, 10_000, 40_000):
        store = with_topics(tmp_path / str(count), count)
        with process(store, *OPTIONS) as server, Caller(server.broker) as client:
            for way in WAYS:
                for number in range(3):  # the first two changes of a run write the whole
                    way(client, f"first-{way.__name__}-{number}")
                took[count, way.__name__] = cost(server, client, way, 100)
    ms = MS * slowness()
    for (count, name), seconds in took.items():
        # A first message creates the files of its queue, which costs more than the topic.
        # A heartbeat of a new group creates the group and its retry topic.
        assert seconds < {"by_send": 2.5, "by_heartbeat": 2}.get(name, 1) * ms, (count, name, took)
        assert seconds < 2.5 * took[100, name] + 0.3 * ms, (count, name, took)


@pytest.mark.parametrize("saved", [False, True])
def test_topics_and_groups_answered_before_a_kill_exist_after_it(tmp_path: Path, saved: bool) -> None:
    store = with_topics(tmp_path, 50)
    made: dict[str, list[str]] = {}
    bak = store / "config" / "topics.json.bak"
    with process(store, *OPTIONS) as server, Caller(server.broker) as client:
        for way in WAYS:
            made[way.__name__] = [f"{way.__name__}-{number}" for number in range(20)]
            for name in made[way.__name__]:
                way(client, name)
            if saved and way is by_command:
                assert eventually(lambda: "by_command-19" in bak.read_text())
        server.end(signal.SIGKILL)
    topics = [*made["by_command"], *made["by_send"], *(f"%RETRY%{name}" for name in made["by_heartbeat"])]
    groups = [*made["by_heartbeat"], *made["group_by_command"]]
    # As any reader of the files finds them, such as Apache's broker.
    for file, table, names in (
        ("topics", "topicConfigTable", topics),
        ("subscriptionGroup", "subscriptionGroupTable", groups),
    ):
        document: dict[str, Any] = json.loads((store / "config" / f"{file}.json").read_text())
        assert set(names) <= document[table].keys()
        assert list(document) == [table, "dataVersion"] or "forbiddenTable" in document
    with process(store, *OPTIONS) as server, Caller(server.broker) as client:
        found = json.loads(bytes(answer(client, 21).body))["topicConfigTable"]
        assert set(topics) <= found.keys()
        assert found["T1"]["writeQueueNums"] == 1 + len(made["by_command_again"][-1]) % 3
        found = json.loads(bytes(answer(client, 201).body))["subscriptionGroupTable"]
        assert set(groups) <= found.keys()
        assert client.bodies(topics[20]) == [b"body"]
        by_command(client, "afterwards")
        assert server.end()[0] == 0
    document = json.loads((store / "config" / "topics.json").read_text())
    assert list(document) == ["dataVersion", "topicConfigTable"]
    assert {"afterwards", *topics} <= document["topicConfigTable"].keys()
