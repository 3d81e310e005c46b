"""`serve --brokers N` as a user starts it: processes, restarts, stops, one address list and one set of metrics."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from rocketwire.server.following import _is_alive
from tests.server.processes import ROOT, START_SECONDS, Caller, eventually

pytestmark = pytest.mark.slow

SETTINGS = {
    "fastRemoting": "false",
    "maxHashSlotNum": "1000",
    "maxIndexNum": "4000",
    "diskSpaceWarningLevelRatio": "100",
    "diskSpaceCleanForciblyRatio": "100",
    "brokerFastFailureEnable": "false",
}


class Brokers:
    """A server with two brokers on free ports."""

    def __init__(self, store: Path, *options: str) -> None:
        command = [sys.executable, "-m", "rocketwire", "serve", "--brokers", "2", "--json-ready", "--store", str(store)]
        for option in ("--namesrv", "--broker", "--http", "--grpc"):
            command += [option, "127.0.0.1:0"]
        for name, value in SETTINGS.items():
            command += ["--set", f"{name}={value}"]
        self._log = store.parent / "log"
        with self._log.open("wb") as log:
            self.popen = subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)

    def wait_ready(self) -> None:
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line, self.log()
        self.document: Mapping[str, Any] = json.loads(line)

    def log(self) -> str:
        return self._log.read_text()

    def address(self, name: str) -> str:
        address: str = self.document["brokers"][name]
        return address

    def processes(self) -> dict[str, int]:
        """The process of each broker, by its name."""
        found = {}
        threads = Path(f"/proc/{self.popen.pid}/task").glob("*/children")
        for pid in (int(pid) for thread in threads for pid in thread.read_text().split()):
            arguments = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if "--member" in arguments:
                found[arguments[arguments.index("--member") + 1]] = pid
        return found

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urlopen(f"http://{self.document['http']}{path}", timeout=START_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name: str) -> float:
        (line,) = [each for each in self.get("/metrics")[1].splitlines() if each.startswith(f"{name} ")]
        return float(line.split()[1])

    def routes(self, topic: str) -> set[str]:
        """The brokers in the route of a topic."""
        with Caller(self.document["namesrv"]) as caller:
            body = caller.request(105, {"topic": topic, "acceptStandardJsonOnly": "true"}).body
        return {each["brokerName"] for each in json.loads(bytes(body))["queueDatas"]} if body else set()


@contextlib.contextmanager
def brokers(store: Path, *options: str) -> Iterator[Brokers]:
    made = Brokers(store, *options)
    try:
        made.wait_ready()
        yield made
    finally:
        if made.popen.poll() is None:
            made.popen.terminate()
        made.popen.communicate(timeout=START_SECONDS)


def test_one_server_has_two_brokers(tmp_path: Path) -> None:
    store = tmp_path / "data"
    with brokers(store) as server:
        assert set(server.document["brokers"]) == {"broker-a", "broker-b"}
        with Caller(server.address("broker-a")) as first, Caller(server.address("broker-b")) as second:
            first.create_topic("T")
            assert eventually(lambda: server.routes("T") == {"broker-a", "broker-b"})
            first.send("T", b"one")
            second.send("T", b"two")
            second.send("T", b"three")
            assert (first.bodies("T"), second.bodies("T")) == ([b"one"], [b"two", b"three"])
        assert server.metric("rocketwire_stored_messages_total") == 3
        assert server.metric("rocketwire_brokers_running") == 2
        status, body = server.get("/readyz")
        assert (status, json.loads(body)["ready"]) == (200, True)
        processes = server.processes()
        server.popen.send_signal(signal.SIGINT)
        assert server.popen.wait(START_SECONDS) == 0
        assert not any(map(_is_alive, processes.values()))
        assert re.search(r"INFO broker-b: stopped: 2 messages in", server.log())
    assert {each.name for each in store.iterdir()} >= {"broker-a", "broker-b"}


def test_a_broker_that_is_killed_is_started_again_with_its_messages(tmp_path: Path) -> None:
    with brokers(tmp_path / "data") as server:
        with Caller(server.address("broker-b")) as caller:
            caller.create_topic("T")
            caller.send("T", b"kept")
        killed = server.processes()["broker-b"]
        os.kill(killed, signal.SIGKILL)
        assert eventually(lambda: server.get("/readyz")[0] == 503)
        with Caller(server.address("broker-a")) as caller:  # the other one continues, and gets a topic meanwhile
            caller.create_topic("created-meanwhile")
        assert eventually(lambda: server.get("/readyz")[0] == 200)
        assert server.processes()["broker-b"] != killed
        with Caller(server.address("broker-b")) as caller:
            assert caller.bodies("T") == [b"kept"]
        assert eventually(lambda: server.routes("created-meanwhile") == {"broker-a", "broker-b"})
        assert "WARNING broker-b ended (signal SIGKILL); starting it again" in server.log()
        assert 'rocketwire_broker_restarts_total{broker="broker-b"} 1.0' in server.get("/metrics")[1]


def test_a_broker_that_cannot_run_is_tried_once_a_second(tmp_path: Path) -> None:
    store = tmp_path / "data"
    with brokers(store) as server:
        checkpoint = store / "broker-b" / "config" / "topics.json"
        killed = server.processes()["broker-b"]
        os.kill(killed, signal.SIGKILL)
        checkpoint.write_text("no JSON")
        checkpoint.with_suffix(".json.bak").write_text("no JSON")
        began = time.monotonic()
        assert eventually(lambda: server.log().count("starting it again") >= 4)
        assert time.monotonic() - began >= 2
        assert server.get("/readyz")[0] == 503
        with Caller(server.address("broker-a")) as caller:
            caller.create_topic("T")


def test_brokers_end_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    with brokers(tmp_path / "data") as server:
        processes = server.processes()
        server.popen.kill()
        assert eventually(lambda: not any(map(_is_alive, processes.values())))
        assert "INFO broker-a: stopping: the supervisor has ended" in server.log()


def test_the_server_ends_if_a_broker_cannot_be_started(tmp_path: Path) -> None:
    store = tmp_path / "data"
    (store / "broker-b").mkdir(parents=True)
    (store / "broker-b" / "lock").mkdir()
    server = Brokers(store)
    output, _ = server.popen.communicate(timeout=START_SECONDS)
    assert (server.popen.returncode, output) == (2, "")
    assert "rocketwire: broker-b could not be started (exit code 2)" in server.log()
