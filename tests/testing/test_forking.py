"""The parent of servers, and this process's end of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bench.endpoints import children
from rocketwire.testing import Endpoint, NotStarted, endpoint
from rocketwire.testing.forker import Forker, NotForked, own_forker
from rocketwire.testing.process import ServerProcess
from rocketwire.testing.running import ForkedServer, SpawnedServer, spawned

REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS = 60.0
SERVE = ["--namesrv=127.0.0.1:0", "--broker=127.0.0.1:0", "--http=127.0.0.1:0"]

pytestmark = pytest.mark.slow


def parents() -> set[int]:
    """The parents of servers of this process."""
    program = b"testing.forking"
    return {pid for pid in children(os.getpid()) if program in Path(f"/proc/{pid}/cmdline").read_bytes()}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Each test begins without a parent."""
    own_forker().end()
    yield
    own_forker().end()


@pytest.fixture
def ready(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server that is started as endpoints are."""
    server = ServerProcess([*SERVE, f"--store={tmp_path / 'store'}"], tmp_path / "log", start_seconds=SECONDS)
    server.start()
    yield server
    server.kill()


def test_servers_are_forks_of_one_parent() -> None:
    with endpoint() as first, endpoint() as second:
        assert len(parents()) == 1
        for each in (first, second):
            assert each.pid is not None
            assert parents() == {int(Path(f"/proc/{each.pid}/stat").read_text().rpartition(")")[2].split()[1])}
            assert os.getsid(each.pid) == each.pid
        assert first.namesrv != second.namesrv


def test_a_start_imports_nothing_that_its_parent_has_not(tmp_path: Path) -> None:
    code = (
        "import sys; from rocketwire.testing.forking import preload; preload(); before = set(sys.modules)\n"
        "from rocketwire.cli import main; main(sys.argv[1:]); print(sorted(set(sys.modules) - before))"
    )
    settings = ["--set=movableClock=true", "--set=faultInjectionEnable=true", f"--store={tmp_path / 'store'}"]
    with subprocess.Popen(
        [sys.executable, "-c", code, "serve", *SERVE, *settings, "--json-ready"],
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    ) as process:
        assert process.stdout is not None
        assert b"namesrv" in process.stdout.readline()
        process.terminate()
        late = process.stdout.read().decode()
    from rocketwire import native

    if native.kernel is not None:  # without it numpy is imported, too
        assert late == "[]\n"


def test_folder_environment_and_mask_are_those_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROCKETWIRE_SERVE_PORT_FILE", "ports.json")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    mask = os.umask(0o027)
    try:
        server = ServerProcess([*SERVE, "--store=store"], tmp_path / "log", start_seconds=SECONDS)
        server.start()
    finally:
        os.umask(mask)
    pid = server.pid
    assert Path(f"/proc/{pid}/cwd").resolve() == tmp_path
    assert "Umask:\t0027" in Path(f"/proc/{pid}/status").read_text()
    assert json.loads((tmp_path / "ports.json").read_text())["store"] == str(tmp_path / "store")
    server.stop()
    logged = datetime.fromisoformat((tmp_path / "log").read_text()[:19])
    there = datetime.now(ZoneInfo("Asia/Tokyo")).replace(tzinfo=None)
    assert timedelta(0) <= there - logged < timedelta(minutes=5)
    # ... and not of the next:
    monkeypatch.delenv("ROCKETWIRE_SERVE_PORT_FILE")
    server.start()
    assert f"Umask:\t{mask:04o}" in Path(f"/proc/{server.pid}/status").read_text()
    assert not (tmp_path / "ports.json").exists()
    server.stop()


def _descriptors(pid: int | None) -> list[str]:
    """What the descriptors of a process are."""
    found = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found.append(str(each.readlink()))
    return found


def test_a_server_has_no_descriptor_of_its_parent(ready: ServerProcess) -> None:
    with endpoint() as ep:
        for pid in (ready.pid, ep.pid):
            found = _descriptors(pid)
            until = time.monotonic() + 10
            while not any("pidfd" in each for each in found) and time.monotonic() < until:
                time.sleep(0.01)  # it may be ready before the task that opens this one has run
                found = _descriptors(pid)
            assert len([each for each in found if "pidfd" in each]) == 1  # of the process that it ends with
            assert not [each for each in found if "memfd" in each]


def test_generators_of_random_numbers_are_not_alike(tmp_path: Path) -> None:
    code = (
        "import random, sys; sys.path.insert(0, sys.argv[1])\n"
        "import rocketwire.testing.forking as forking; import rocketwire.cli as cli\n"
        "own = random.Random(1)\n"
        "cli.main = lambda arguments: print(own.random(), random.random(), flush=True) or 0\n"
        "forking.main(int(sys.argv[2]), int(sys.argv[3]))"
    )
    forker = Forker(program=code)
    found = set()
    with (tmp_path / "log").open("wb") as log:
        for _ in range(3):
            server = forker.fork([], log=log.fileno(), seconds=SECONDS)
            found |= set(server.output.read().split())
            server.wait()
            server.close()
    forker.end()
    assert len(found) == 6


# --- ends ---


def stopped_within(pids: set[int], seconds: float = SECONDS) -> bool:
    """Whether all of them end in time."""
    until = time.monotonic() + seconds
    while any(_lives(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _lives(pid: int) -> bool:
    """Whether a process has not ended; where orphans are not reaped, one stays as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


ENDS = {
    "return": "",
    "exception": "raise RuntimeError",
    "exit at once": "os._exit(3)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
}
TESTS = {
    "with": "with endpoint() as ep:\n    show(ep.pid)\n    {end}\n",
    "after": "with endpoint() as ep:\n    show(ep.pid)\n{end}\n",
    "never closed": "block = endpoint()\nep = block.__enter__()\ntell(ep.pid)\n{end}\n",
    "async with": (
        "import trio\nasync def main():\n    async with endpoint() as ep:\n        show(ep.pid)\n        {end}\n"
        "trio.run(main)\n"
    ),
}


@pytest.mark.parametrize(
    ("test", "end"),
    [
        *(("with", end) for end in ENDS),
        *(("after", end) for end in ("return", "killed")),
        *(("never closed", end) for end in ("return", "exit at once")),
        *(("async with", end) for end in ("exception", "exit at once", "killed")),
    ],
)
def test_no_process_remains_of_a_test_process(test: str, end: str) -> None:
    code = (
        "import os, signal\nfrom bench.endpoints import descendants\nfrom rocketwire.testing import endpoint\n"
        "def show(pid):\n    assert pid in descendants(os.getpid())\n    print(*descendants(os.getpid()), flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + TESTS[test].replace("{end}", ENDS[end] or "pass")],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        check=False,
        timeout=SECONDS,
        capture_output=True,
        text=True,
    )
    processes = {int(word) for word in done.stdout.split()}
    assert len(processes) == 2, done.stderr
    assert stopped_within(processes)


def test_a_parent_that_was_killed_is_started_again(ready: ServerProcess) -> None:
    (before,) = parents()
    os.kill(before, signal.SIGKILL)
    with endpoint() as ep:
        (now,) = parents()
        assert now != before
        assert ep.pid in children(now)
    assert stopped_within({before})
    ready.kill()  # its server outlived it, and still belongs to the tests
    assert ready.pid is None


def test_without_a_forking_parent_the_server_is_a_separate_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = Forker(program="import sys; sys.exit(1)")
    with (tmp_path / "log").open("wb") as log, pytest.raises(NotForked):
        broken.fork(["serve"], log=log.fileno(), seconds=SECONDS)
    broken.end()
    monkeypatch.setattr("rocketwire.testing.process.own_forker", lambda: broken)
    with endpoint() as ep:
        assert ep.pid in children(os.getpid())
        ep.kill()
        assert not Path(f"/proc/{ep.pid}").exists()
        ep.restart()
        assert ep.receive(ep.topic(), timeout=0) == []
    broken.end()


def test_what_an_interpreter_reads_at_its_start_needs_another_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint():
        before = parents()
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    with endpoint() as ep:
        (other,) = parents() - before
        assert ep.pid in children(other)
    monkeypatch.delenv("PYTHONHASHSEED")
    with endpoint() as ep:
        assert ep.pid not in children(other)


def test_a_server_that_cannot_start_reports_why_and_ends(tmp_path: Path) -> None:
    below = {each for parent in parents() for each in children(parent)}
    with pytest.raises(NotStarted, match="noSuchKey: unknown key"), endpoint(settings={"noSuchKey": 1}):
        pass
    assert {each for parent in parents() for each in children(parent)} == below


def test_threads_share_the_parent() -> None:
    pids: list[int | None] = []

    def use() -> None:
        with endpoint() as ep:
            ep.send(ep.topic(), b"message")
            pids.append(ep.pid)

    threads = [threading.Thread(target=use) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(set(pids)) == 6
    assert len(parents()) == 1


def test_a_forked_test_process_has_another_parent() -> None:
    code = (
        "import os\nfrom bench.endpoints import children\nfrom rocketwire.testing import endpoint\n"
        "with endpoint() as ep:\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        with endpoint() as other:\n"
        "            (parent,) = children(os.getpid())\n"
        "            assert other.pid in children(parent)\n"
        "            other.send(other.topic(), b'message')\n"
        "        os._exit(7)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        "    ep.send(ep.topic(), b'message')\n"
        "with endpoint() as ep:\n"
        "    assert len(children(os.getpid())) == 1\n"
    )
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        check=True,
        timeout=SECONDS,
    )


def test_an_answer_without_a_waiting_request_is_dropped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forker = Forker()
    forker.prepare()
    arguments = ["serve", *SERVE, f"--store={tmp_path / 'store'}", "--json-ready", "--end-with", str(os.getpid())]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with (tmp_path / "log").open("ab") as log:
        monkeypatch.setattr("socket.recv_fds", interrupted)
        with pytest.raises(KeyboardInterrupt):
            forker.fork(arguments, log=log.fileno(), seconds=SECONDS)
        monkeypatch.undo()
        server = forker.fork(arguments, log=log.fileno(), seconds=SECONDS)
        assert json.loads(server.output.readline())["pid"] == server.pid
    server.send(signal.SIGTERM)
    assert server.wait(SECONDS)
    assert not server.is_running()
    server.send(signal.SIGTERM)  # nothing
    server.close()
    forker.end()


@pytest.mark.parametrize("way", ["spawned", "forked"])
def test_a_process_is_waited_for_so_long(way: str, tmp_path: Path) -> None:
    arguments = ["serve", *SERVE, f"--store={tmp_path / 'store'}", "--json-ready"]
    with (tmp_path / "log").open("ab") as log:
        server: SpawnedServer | ForkedServer
        if way == "spawned":
            server = spawned(arguments, log=log.fileno())
        else:
            server = own_forker().fork(arguments, log=log.fileno(), seconds=SECONDS)
    server.output.readline()
    assert server.is_running()
    assert not server.wait(0.01)
    server.send(signal.SIGKILL)
    assert server.wait()
    assert not Path(f"/proc/{server.pid}").exists()
    server.close()


def test_an_endpoint_with_a_store_that_stays_is_stopped_cleanly(tmp_path: Path) -> None:
    with endpoint(store=tmp_path / "store") as ep:
        ep.send("Orders", b"message")
    assert isinstance(ep, Endpoint)
    assert not (tmp_path / "store" / "abort").exists()
