"""Programs that are started, waited for, and do not outlive the process that started them."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rocketwire.compat.brokers.processes import EndpointError, Process

REPOSITORY = Path(__file__).resolve().parents[3]
SECONDS = 30.0
# Ends at no signal but SIGKILL, and has a child.
STUBBORN = ["sh", "-c", "trap '' TERM; sleep 600 & echo ready $!; wait; sleep 600"]


def lives(pid: int) -> bool:
    """Whether a process has not ended; where orphans are not reaped, one stays as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ended_in_time(*pids: int) -> bool:
    """Whether all of them end."""
    until = time.monotonic() + SECONDS
    while any(lives(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def children() -> set[str]:
    """The processes that this one has started."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found.update((task / "children").read_text("ascii").split())
    return found


def test_one_is_stopped_and_nothing_remains(tmp_path: Path) -> None:
    before = children()
    process = Process("sleeper", ["sh", "-c", "echo ready; exec sleep 600"], cwd=tmp_path, env=os.environ)
    process.wait_for("ready", within=SECONDS)
    assert process.running
    assert process.stop() == -signal.SIGTERM
    assert children() == before


def test_one_that_does_not_stop_is_killed_with_its_children(tmp_path: Path) -> None:
    before = children()
    process = Process("stubborn", STUBBORN, cwd=tmp_path, env=os.environ)
    child = int(process.wait_for("ready", within=SECONDS).split()[1])
    with pytest.raises(EndpointError, match="stubborn did not stop within 0 s"):
        process.stop(within=0.2)
    assert ended_in_time(process.pid, child)
    assert children() == before


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(3)"])
def test_one_does_not_outlive_the_process_that_started_it(end: str, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom rocketwire.compat.brokers.processes import Process\n"
        f"process = Process('stubborn', {STUBBORN!r}, cwd=Path(sys.argv[1]), env=os.environ)\n"
        f"print(process.pid, process.wait_for('ready', within={SECONDS}).split()[1], flush=True)\n"
        "(task,) = Path('/proc/self/task').glob(str(os.getpid()))\n"
        f"print((task / 'children').read_text(), flush=True)\n{end}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        check=False,
        timeout=SECONDS,
        capture_output=True,
        text=True,
    )
    pids = {int(word) for word in done.stdout.split()}
    assert len(pids) == 3, done.stderr  # with the watcher
    assert ended_in_time(*pids)
