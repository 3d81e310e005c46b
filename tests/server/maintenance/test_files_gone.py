"""Folders and files of the store that are moved away while the server runs, and put back."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from rocketwire.wire.facts.codes import ResponseCode
from tests.server.harness import pull_ext, topic_ext
from tests.server.processes import Caller, Process, eventually, process

pytestmark = pytest.mark.slow

OPTIONS: Final = (
    *("--set", "mappedFileSizeCommitLog=262144"),
    *("--set", "mappedFileSizeConsumeQueue=20000"),
    *("--set", "flushConsumerOffsetInterval=1000"),
)
FIRST: Final = "00000000000000000000"
GONE: Final = "is gone: it was removed or moved away while the server has it open"
REFUSES: Final = "service not available now: "
_LINES: Final = (" ERROR ", " WARNING ", "Traceback")


class Load:
    """Sends to a topic and pulls all of it, repeatedly, in two threads; records the answers."""

    def __init__(self, broker: str, topic: str) -> None:
        self._broker = broker
        self._topic = topic
        self._stop = threading.Event()
        self.stored: list[bytes] = []
        self.sends: Counter[tuple[int, str]] = Counter()
        self.pulls: Counter[tuple[int, str]] = Counter()

    def _send(self) -> None:
        number = 0
        with Caller(self._broker) as client:
            while not self._stop.wait(0.001):
                body = b"%06d " % number + bytes(500)
                answer = client.send(self._topic, body, keys=f"k{number}")
                self.sends[answer.header.code, answer.header.remark or ""] += 1
                if not answer.header.code:
                    self.stored.append(body)
                number += 1

    def _pull(self) -> None:
        offset = 0
        with Caller(self._broker) as client:
            while not self._stop.wait(0.001):
                header = client.request(11, pull_ext(self._topic, offset)).header
                self.pulls[header.code, header.remark or ""] += 1
                offset = int((header.ext or {}).get("nextBeginOffset", 0)) if header.code == 0 else 0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=each) for each in (self._send, self._pull)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def is_served(self) -> bool:
        """Whether 100 more sends are answered 0, and pulls, too."""
        sent = self.sends[0, ""]
        return eventually(lambda: self.sends[0, ""] > sent + 100) and eventually(lambda: bool(self.pulls[0, "FOUND"]))


def logged(errors: str) -> list[str]:
    """The log lines at WARNING or above, without their times."""
    return [line.split(" ", 3)[-1] for line in errors.splitlines() if any(word in line for word in _LINES)]


def queue_file(store: Path) -> Path:
    return max((store / "consumequeue" / "T" / "0").iterdir())


def log_file(store: Path) -> Path:
    """The file that is written: the newest is made ahead."""
    return sorted((store / "commitlog").iterdir())[-2]


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
@pytest.mark.parametrize("what", [".", "commitlog", "consumequeue", "consumequeue/T/0", "queue file", "log file"])
def test_missing_files_are_logged_and_waited_for(tmp_path: Path, what: str, flush: str) -> None:
    store, away = tmp_path / "store", tmp_path / "away"
    with process(store, *OPTIONS, "--set", f"flushDiskType={flush}") as server, Caller(server.broker) as client:
        client.create_topic("T")
        client.create_topic("other")
        load = Load(server.broker, "T")
        with load.running():
            assert eventually(lambda: len(load.stored) > 600)  # more than a file of the log
            path = {"queue file": queue_file, "log file": log_file}.get(what, lambda root: root / what)(store)
            path.rename(away)
            refusal = ResponseCode.SERVICE_NOT_AVAILABLE, f"{REFUSES}{path} {GONE}"
            assert eventually(lambda: load.sends[refusal] > 100)
            of_a_queue = what in {"consumequeue/T/0", "queue file"}
            answer = client.send("other")
            assert answer.header.code == (0 if of_a_queue else refusal[0])
            before = sum(load.pulls.values())
            assert eventually(lambda: sum(load.pulls.values()) > before + 20)
            away.rename(path)
            assert load.is_served()
            time.sleep(2)  # the files are checked once a second, and logged then
        # Some that were stored just before may be refused otherwise: they wait for a flush that fails.
        late = {ResponseCode.FLUSH_DISK_TIMEOUT} if flush == "SYNC_FLUSH" else set()
        assert {code for code, _ in load.sends} - late == {0, refusal[0]}
        assert {remark for code, remark in load.sends if code == refusal[0]} == {refusal[1]}
        for code, remark in load.pulls:
            assert code in {0, 19, 20, 21} or (code == refusal[0] and remark.endswith(GONE)), (code, remark)
        late_ones = sum(count for (code, _), count in load.sends.items() if code in late)
        found = client.bodies("T")
        assert [body for body in found if body in set(load.stored)] == load.stored
        assert len(found) <= len(load.stored) + late_ones
        code, errors = server.end()
    assert code == 0, errors
    [line] = logged(errors)
    assert line.startswith(f"{path} {GONE}")
    with process(store, *OPTIONS) as server, Caller(server.broker) as client:
        assert client.bodies("T") == found


def test_the_index_is_waited_for(tmp_path: Path) -> None:
    store, away = tmp_path / "store", tmp_path / "away"
    with process(store, *OPTIONS, "--set", "maxIndexNum=200") as server, Caller(server.broker) as client:
        client.create_topic("T")
        load = Load(server.broker, "T")
        with load.running():
            assert eventually(lambda: len(list((store / "index").glob("*"))) > 1)
            (store / "index").rename(away)
            sent = len(load.stored)
            assert eventually(lambda: len(load.stored) > sent + 1000)
            away.rename(store / "index")
            files = len(list((store / "index").iterdir()))
            assert eventually(lambda: len(list((store / "index").iterdir())) > files)
        assert set(load.sends) == {(0, "")}
        code, errors = server.end()
    assert code == 0, errors
    assert logged(errors) == [f"{store / 'index'} {GONE}"]


@pytest.mark.parametrize("back", ["put back", "made again"])
def test_tables_are_written_again(tmp_path: Path, back: str) -> None:
    store, away = tmp_path / "store", tmp_path / "away"
    config = store / "config"
    with process(store, *OPTIONS) as server, Caller(server.broker) as client:
        client.create_topic("T")
        load = Load(server.broker, "T")
        with load.running():
            assert eventually(lambda: (config / "topics.json").exists() and len(load.stored) > 10)
            offset = {"consumerGroup": "G", "topic": "T", "queueId": "0", "commitOffset": "2"}
            assert client.request(15, offset).header.code == 0
            assert eventually((config / "consumerOffset.json").exists)
            stored_before = len(load.stored)
            config.rename(away)
            answer = client.request(17, topic_ext("late", 3))
            if answer.header.code:
                assert answer.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
                assert answer.header.remark == f"{config} {GONE}"
            assert eventually(lambda: len(load.stored) > stored_before + 1000)
            assert not config.exists()
            assert client.request(15, {**offset, "commitOffset": "7"}).header.code == 0
            if back == "put back":
                away.rename(config)
            else:
                config.mkdir()
            assert eventually((config / "consumerOffset.json").exists)
            assert eventually(lambda: "0:7" in (config / "consumerOffset.json").read_text())
            assert eventually((config / "topics.json").exists)
            assert eventually(lambda: "late" in (config / "topics.json").read_text())
            (config / "topics.json").unlink()
            assert eventually((config / "topics.json").exists)
        assert set(load.sends) == {(0, "")}
        assert {"T", "late"} < set(json.loads((config / "topics.json").read_text())["topicConfigTable"])
        code, errors = server.end()
    assert code == 0, errors
    assert logged(errors) == [f"{config} {GONE}"]


def removed(store: Path) -> None:
    while store.exists():  # the server may create a file in a folder that is just being removed
        with contextlib.suppress(OSError):
            shutil.rmtree(store)


def made_again(store: Path) -> None:
    removed(store)
    (store / "commitlog").mkdir(parents=True)
    (store / "consumequeue").mkdir()


def copied_back(store: Path) -> None:
    away = store.with_name("away")
    shutil.copytree(store, away)
    removed(store)
    away.rename(store)


@pytest.mark.parametrize("how", [removed, made_again, copied_back])
def test_a_folder_that_comes_back_changed_takes_no_messages(tmp_path: Path, how: Callable[[Path], None]) -> None:
    store = tmp_path / "store"
    with process(store, *OPTIONS) as server, Caller(server.broker) as client:
        client.create_topic("T")
        load = Load(server.broker, "T")
        with load.running():
            assert eventually(lambda: len(load.stored) > 10)
            how(store)
            assert eventually(lambda: any(code == 14 for code, _ in load.sends))
            assert eventually(lambda: sum(count for (code, _), count in load.sends.items() if code) > 300)
        if how is copied_back:
            assert any("it was replaced meanwhile; restart" in remark for _, remark in load.sends)
        assert client.bodies("T")[: len(load.stored)] == load.stored  # mapped files can be read
        code, errors = server.end()
    assert code == 2
    assert "Traceback" not in errors
    if how is removed:
        assert not store.exists()


def test_a_removed_lock_is_taken_again(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with process(store, *OPTIONS) as server, Caller(server.broker) as client:
        client.create_topic("T")
        for name in ("lock", "abort", "checkpoint"):
            (store / name).unlink()
        assert eventually(lambda: (store / "lock").exists() and (store / "abort").exists())
        code, errors = Process(store).result()
        assert code == 2
        assert errors.endswith(f"\nrocketwire: store {store} is in use by another process (its lock file is held)\n")
        assert client.send("T").header.code == 0
        code, errors = server.end()
    assert code == 0, errors
    assert (store / "checkpoint").exists()
