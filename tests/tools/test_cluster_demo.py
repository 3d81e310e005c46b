"""The demonstration of a cluster: short, with kills, and ended by a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.processes import eventually
from tools.cluster_demo.traffic import longest_pause

ROOT = Path(__file__).parents[2]


def started(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tools.cluster_demo", *options]
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def servers_in(folder: Path) -> list[int]:
    """The processes whose arguments name the folder: name servers and brokers."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in each.read_bytes():
                found.append(int(each.parent.name))
        except OSError:  # it has ended
            continue
    return found


@pytest.mark.slow
def test_nothing_that_was_acknowledged_is_lost(tmp_path: Path) -> None:
    with started(tmp_path, "--seconds", "7", "--json") as demo:
        output, _ = demo.communicate(timeout=240)
    reported: dict[str, Any] = json.loads(output)
    assert demo.returncode == 0
    assert reported["lost"] == 0
    assert reported["received"] == reported["acknowledged"] > 100
    assert [each["server"] for each in reported["kills"]] == ["broker-a", "proxy-1", "names-1"]
    assert servers_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_and_nothing_stays(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path, "--no-kills") as demo:
        assert demo.stdout is not None
        while "acknowledged" not in (line := demo.stdout.readline()) or "acknowledged 0" in line:
            assert line
        assert len(servers_in(tmp_path)) == 5
        demo.send_signal(number)
        demo.communicate(timeout=20)
    assert demo.returncode == 130
    assert eventually(lambda: servers_in(tmp_path) == [])
    assert list(tmp_path.iterdir()) == []


def test_pauses_are_those_between_times_and_the_ends() -> None:
    assert longest_pause([1.0, 2.0, 4.0, 4.5], 2.0, 5.0) == 2.0
    assert longest_pause([], 2.0, 5.0) == 3.0
    assert longest_pause([1.0, 2.5], 2.0, 5.0) == 2.5
