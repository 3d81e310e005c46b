"""A server ends with the process that has started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio
import trio.testing

from rocketwire.server import following
from tests.server.harness import mock_clock
from tests.server.processes import process


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])


def without_pidfd(process_id: int) -> int:
    raise PermissionError


@pytest.mark.parametrize("polls", [False, True])
async def test_it_returns_when_the_process_has_ended(monkeypatch: pytest.MonkeyPatch, polls: bool) -> None:
    if polls:
        monkeypatch.setattr(os, "pidfd_open", without_pidfd)
    with sleeper() as other:
        returned = trio.Event()

        async def wait() -> None:
            await following.wait_for_end(other.pid)
            returned.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            mock_clock().jump(1)
            await trio.testing.wait_all_tasks_blocked()
            assert not returned.is_set()
            other.kill()
            if polls:
                other.wait()  # until its parent has waited for it, its number is in use
                mock_clock().jump(1)
            await returned.wait()


@pytest.mark.parametrize("polls", [False, True])
async def test_it_returns_at_once_if_the_process_does_not_exist(monkeypatch: pytest.MonkeyPatch, polls: bool) -> None:
    if polls:
        monkeypatch.setattr(os, "pidfd_open", without_pidfd)
    with sleeper() as other:
        other.kill()
    await following.wait_for_end(other.pid)


def test_a_process_of_another_user_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process_id: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert following._is_alive(1)


def test_a_server_stops_cleanly_when_its_starter_is_killed(tmp_path: Path) -> None:
    with sleeper() as starter, process(tmp_path / "store", "--end-with", str(starter.pid)) as server:
        starter.send_signal(signal.SIGKILL)
        code, errors = server.result()
    assert code == 0
    assert f"stopping: process {starter.pid} has ended" in errors
    assert not (tmp_path / "store" / "abort").exists()
