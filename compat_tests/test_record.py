"""Recording the official Java client in front of both brokers, and replaying the recording at fresh ones.

Theory: a client that notices nothing of the proxy sends and receives all; a recording of ours, replayed at a fresh
server of ours, gets the same answers, and at Apache's those that differ in known ways only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests.endpoints import Rocketwire
from compat_tests.readme import ROOT
from rocketwire.compat.brokers.endpoint import Apache, Endpoint, running
from rocketwire.compat.brokers.processes import READY_WITHIN, Process
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Outgoing, assert_each_once

VERSION: Final = "4.9.7"
TOPIC: Final = "Recorded"
GROUP: Final = "recorded_group"
MESSAGES: Final = [Outgoing(body=f"recorded {i}", tags="R", keys=f"k{i}", queue=i % 4) for i in range(8)]

#: Request, field and reason: how a replay of a recording of ours may differ at Apache's 4.9.7.
KNOWN: Final = (
    ("UPDATE_AND_CREATE_TOPIC", "remark", "Apache answers success with the remark that no code was set"),
    # A heartbeat makes the retry topic. Apache's broker registers it behind its answer; here it is known at once.
    ("GET_ROUTEINFO_BY_TOPIC", "code", "TOPIC_NOT_EXIST of a topic that is not registered yet"),
    ("GET_ROUTEINFO_BY_TOPIC", "remark", "the same"),
    ("GET_ROUTEINFO_BY_TOPIC", "body", "the same"),
    ("PULL_MESSAGE", "body[[]*].properties.MSG_REGION", "stored with messages since Apache 5.x, and here"),
    ("PULL_MESSAGE", "body[[]*].properties.TRACE_ON", "the same"),
)


@contextlib.contextmanager
def recorded(file: Path, endpoint: Endpoint) -> Iterator[str]:
    """A recording proxy in front of an endpoint: its address."""
    command = [sys.executable, "-m", "rocketwire", "record", str(file), "--namesrv", endpoint.namesrv]
    process = Process("record", [*command, "--listen", "127.0.0.1:0", "--json"], cwd=ROOT, env=os.environ)
    try:
        yield str(json.loads(process.wait_for("listening", within=READY_WITHIN))["listening"])
    finally:
        assert process.stop(signal.SIGINT) == 0, process.tail()


def objects(*arguments: object) -> tuple[int, list[dict[str, Any]]]:
    """The exit code and the JSON lines of a command."""
    program = [sys.executable, "-m", "rocketwire", *map(str, arguments), "--json"]
    ran = subprocess.run(program, capture_output=True, check=False, timeout=240)
    return ran.returncode, [json.loads(line) for line in ran.stdout.splitlines()]


def use(clients: Clients, namesrv: str) -> None:
    """Make a topic, send to each of its queues, and consume all with a push consumer."""
    client = Client(clients=clients, id=f"java-{VERSION}", namesrv=namesrv)
    client.run("CreateTopic", topic=TOPIC, queues=4)
    sent = client.only("sent", "SendToQueue", topic=TOPIC, message=MESSAGES)
    assert [event["status"] for event in sent] == ["SEND_OK"] * len(MESSAGES)
    received = client.only("received", "PushConcurrent", topic=TOPIC, group=GROUP, count=len(MESSAGES))
    assert_each_once(received, MESSAGES)


def assert_complete(file: Path) -> None:
    """All that the client did is in the recording, frame by frame."""
    code, events = objects("show", file)
    assert code == 0
    assert events[-1]["event"] == "stopped"
    assert not [each for each in events if each["event"] in ("unreadable", "sent")]
    frames = [each for each in events if each["event"] == "frame"]
    requested = {each["name"] for each in frames if each["answer"] is None}
    assert requested >= {
        "SEND_MESSAGE_V2",
        "HEART_BEAT",
        "PULL_MESSAGE",
        "GET_ROUTEINFO_BY_TOPIC",
        "UPDATE_AND_CREATE_TOPIC",
    }
    stored = [each["body"] for each in frames if each["name"] == "SEND_MESSAGE_V2" and each["answer"] is None]
    assert stored == [message.body for message in MESSAGES]
    pulled = [
        record["body"]
        for each in frames
        if each["name"] == "PULL_MESSAGE" and each["answer"] == 0 and each["topic"] == TOPIC
        for record in each["body"]
    ]
    assert sorted(pulled) == sorted(stored)


@pytest.fixture(scope="module")
def ours(clients: Clients, only_rocketwire: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the client in front of this server."""
    del only_rocketwire  # without it the test is skipped
    folder = tmp_path_factory.mktemp("ours")
    with running(Rocketwire(folder)) as endpoint, recorded(folder / "session.rwr", endpoint) as namesrv:
        use(clients, namesrv)
    return folder / "session.rwr"


def test_a_client_in_front_of_this_server(ours: Path) -> None:
    assert_complete(ours)


@pytest.mark.usefixtures("only_rocketwire")
def test_a_client_in_front_of_apache(clients: Clients, tmp_path: Path) -> None:
    file = tmp_path / "session.rwr"
    with running(Apache(tmp_path / "apache")) as endpoint, recorded(file, endpoint) as namesrv:
        use(clients, namesrv)
    assert_complete(file)


def replayed(file: Path, endpoint: Endpoint) -> list[dict[str, Any]]:
    """The differences of a replay."""
    code, lines = objects("replay", file, "--namesrv", endpoint.namesrv)
    *differences, summary = lines
    assert summary["compared"] > len(MESSAGES)
    assert summary["unsent"] == summary["lost"] == 0
    assert code == (1 if differences else 0)
    # A pull of a new member is refused if it overtakes its heartbeat, which comes on another connection.
    overtaking = {
        each["frame"]
        for each in differences
        if each["field"] == "code"
        and {each["recorded"], each["replayed"]} & {"SUBSCRIPTION_NOT_LATEST", "SUBSCRIPTION_NOT_EXIST"}
    }
    return [each for each in differences if each["frame"] not in overtaking]


def test_replay_at_a_fresh_server(ours: Path, tmp_path: Path) -> None:
    with running(Rocketwire(tmp_path)) as endpoint:
        found = replayed(ours, endpoint)
    # A client queries the route of a topic that another connection is just making: the order is chance.
    assert [each for each in found if each["request"] != "GET_ROUTEINFO_BY_TOPIC"] == []


def test_replay_at_apache(ours: Path, tmp_path: Path) -> None:
    with running(Apache(tmp_path)) as endpoint:
        found = replayed(ours, endpoint)
    unknown = [
        each
        for each in found
        if not any(each["request"] == request and fnmatch(each["field"], field) for request, field, _ in KNOWN)
    ]
    assert not unknown, json.dumps(unknown, indent=1)
