"""`rocketwire compat run` as users run it: beside Apache, with what misbehaves, and stopped by Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.endpoints import Rocketwire
from compat_tests.readme import ROOT
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports
from rocketwire.compat.brokers.processes import Process
from rocketwire.remoting.admin.groups import group_configs
from rocketwire.remoting.cluster import BlockingCluster

COMMAND = [sys.executable, "-m", "rocketwire", "compat"]


def ran(*options: str, expected: int = 0) -> str:
    """What `compat run` prints on the standard error."""
    done = subprocess.run(
        [*COMMAND, "run", *options], cwd=ROOT, capture_output=True, text=True, timeout=540, check=False
    )
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stderr


def found(folder: Path) -> list[dict[str, Any]]:
    """The results of a report."""
    results: list[dict[str, Any]] = json.loads((folder / "results.json").read_text("utf-8"))["results"]
    return results


def left(namesrv: str) -> list[str]:
    """Topics and groups of runs that still exist."""
    with BlockingCluster(namesrv) as cluster:
        groups = [group for broker in cluster.all_brokers().values() for group in group_configs(broker)]
        return [name for name in (*cluster.topics(), *groups) if "rwc" in name]


@pytest.fixture
def misbehaving(tmp_path: Path) -> Iterator[Rocketwire]:
    """An endpoint that refuses batches, and its first send of another message."""
    rules = ("answer:13,code=SEND_BATCH_MESSAGE", "answer:13,code=SEND_MESSAGE_V2,count=1")
    options = [option for rule in rules for option in ("--fault", rule)]
    with running(Rocketwire(tmp_path / "endpoint", options=options)) as started:
        yield started


@pytest.mark.usefixtures("only_rocketwire")  # Apache's broker injects no faults
def test_what_does_not_pass_comes_with_evidence(misbehaving: Rocketwire, tmp_path: Path) -> None:
    """Apache passes all; here what is refused once is flaky, and what is always refused does not pass."""
    folder = tmp_path / "report"
    scenarios = ["send.batch", "send.to-missing-queue", "push.tags", "query.missing-id"]
    options = ("--scenarios", ",".join(scenarios), "--jobs", "1", "--against", "apache-4.9.7", "--out", str(folder))
    printed = ran("--namesrv", misbehaving.namesrv, "--clients", "java-4.9.7", *options, expected=1)
    assert "flaky" in printed
    every = found(folder)
    reference = {each["scenario"]: each["outcome"] for each in every if each["side"] == "reference"}
    assert reference == dict.fromkeys(scenarios, "pass")
    refused, flaky, *others = [each for each in every if each["side"] == "endpoint"]
    assert [each["outcome"] for each in others] == ["pass", "pass"]
    assert (flaky["outcome"], [each["passed"] for each in flaky["attempts"]]) == ("flaky", [False, True])
    assert refused["outcome"] in {"differs", "fails"}
    first, second = refused["attempts"]
    assert first["error"]
    assert first["frames"] == []
    assert "messages = " in second["error"]  # the scenario's variables
    summaries = [each["summary"] for each in second["frames"]]
    assert any(each.startswith("SEND_BATCH_MESSAGE  answer MESSAGE_ILLEGAL") for each in summaries), summaries
    differences = [each for each in refused["frame_diff"] if each["where"].startswith("SEND_BATCH_MESSAGE")]
    assert {"expected": "SUCCESS", "actual": "MESSAGE_ILLEGAL"}.items() <= differences[0].items()
    assert {path.name for path in folder.iterdir()} >= {"report.html", "junit.xml", "summary.md", "badge.svg"}
    assert left(misbehaving.namesrv) == []


def started(*options: str) -> Process:
    """A run whose first scenario has passed."""
    process = Process("compat", [*COMMAND, "run", *options], cwd=ROOT, env=os.environ)
    process.wait_for("pass ", within=180)
    return process


def test_ctrl_c_leaves_nothing_behind(endpoint: Endpoint, tmp_path: Path) -> None:
    options = ["--namesrv", endpoint.namesrv, "--clients", "java-4.9.7", "--out", str(tmp_path / "report")]
    process = started(*options)
    children = _children(process.pid)
    assert children
    assert left(endpoint.namesrv)
    assert process.stop(signal.SIGINT) == 130
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []
    assert left(endpoint.namesrv) == []
    assert not (tmp_path / "report").exists()


def test_nothing_outlives_a_run_that_is_killed(endpoint: Endpoint, tmp_path: Path) -> None:
    """Apache's processes, their watchers, and the clients."""
    options = ["--namesrv", endpoint.namesrv, "--clients", "java-4.9.7", "--out", str(tmp_path / "report")]
    process = started(*options, "--against", "apache-4.9.7")
    children = _children(process.pid)
    commands = b"\n".join(Path(f"/proc/{child}/cmdline").read_bytes() for child in children)
    assert all(each in commands for each in (b"NamesrvStartup", b"BrokerStartup", b"compat.Runner", b"watcher"))
    process.stop(signal.SIGKILL)
    wait_until(lambda: not any(map(_lives, children)))


def _lives(pid: str) -> bool:
    """Whether a process has not ended; where orphans are not reaped, one stays as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _children(pid: int) -> list[str]:
    """The processes that a process has started and that run."""
    found: list[str] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found += (task / "children").read_text("ascii").split()
    return found


def test_a_missing_endpoint_is_reported_at_once() -> None:
    began = time.monotonic()
    printed = ran("--namesrv", f"{LOOPBACK}:{free_ports()[0]}", "--clients", "java-4.9.7", expected=3)
    assert "name server" in printed
    assert time.monotonic() - began < 120


def test_wrong_use_is_reported_in_one_line(endpoint: Endpoint) -> None:
    address = ("--namesrv", endpoint.namesrv)
    assert "there is none; clients are java-4.4.0" in ran(*address, "--clients", "cobol", expected=2)
    assert "none matches" in ran(*address, "--scenarios", "send.sink", expected=2)
    assert "expected AK:SK" in ran(*address, "--acl", "half", expected=2)
