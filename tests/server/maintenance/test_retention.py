"""The times of cleaning and of checking the disk, over a real store on a disk whose use the test sets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.config.keys import ConfigError
from rocketwire.server.configuration import LiveConfig, ServerConfig
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import hour_of_day
from rocketwire.server.maintenance.keys import RetentionKeys
from rocketwire.server.maintenance.retention import FileRetention, retention_rules
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import SyncFailed
from rocketwire.store.store import MessageStore
from tests.server.harness import NOW, Clock, changed, mock_clock, run_inline, settle, small_config
from tests.store.support import draft, open_store, small

HOUR = 3_600_000
#: A time at which no test's deleteWhen is: the hour of NOW plus one, two ...
HOURS = [hour_of_day(NOW + number * HOUR) for number in range(24)]


class Disk(FileSystem):
    """A disk whose use the test sets."""

    def __init__(self) -> None:
        self.used = 0.5
        self.fault: OSError | None = None
        self.removed: list[str] = []
        self.synced: list[str] = []

    def usage(self, path: str) -> float:
        if self.fault is not None:
            raise self.fault
        return self.used if "index" not in path else 0.25

    def remove(self, path: str) -> None:
        if self.fault is not None:
            raise self.fault
        super().remove(path)
        self.removed.append(path)

    def sync_directory(self, path: str) -> None:
        super().sync_directory(path)
        self.synced.append(path)


class Setup:
    """A store of sixteen log files, a message an hour, that began 100 hours before NOW; nothing is expired at first."""

    def __init__(self, root: Path) -> None:
        self.disk = Disk()
        self.clock = Clock()
        self.config = LiveConfig(
            changed(ServerConfig(), delete_when=str(HOURS[12]), file_reserved_time=200), self.clock
        )
        store_clock = Clock()
        self.store = open_store(small(root, message_index_enable=False), store_clock, self.disk)  # type: ignore[arg-type]  # a clock
        for number in range(100):
            store_clock.now = NOW + (number - 100) * HOUR
            self.store.append([draft(number, body=bytes(400))])
        self.held = False
        self.lifetime = FileRetention(
            self.store, self.config[RetentionKeys], self.clock, run_inline, lambda: self.held, BackgroundBudget()
        )
        self.disk.removed.clear()

    @property
    def files(self) -> int:
        return len(self.store._log.segments)

    def log_files(self) -> list[str]:
        return [path for path in self.disk.removed if "commitlog" in path]

    def change(self, **values: Any) -> None:
        self.config.update({name: str(value) for name, value in values.items()})

    async def pass_time(self, seconds: float, step: float = 0.05) -> None:
        await settle()
        left = seconds
        while left > 1e-9:
            now = min(step, left)
            self.clock.now += round(now * 1000)
            mock_clock().jump(now)
            await settle()
            left -= now


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path)
    yield made
    made.disk.fault = None
    made.store.close()


@pytest.fixture
def start(setup: Setup, nursery: trio.Nursery) -> Callable[[], None]:
    def begin() -> None:
        nursery.start_soon(setup.lifetime.watch_disk)
        nursery.start_soon(setup.lifetime.clean)

    return begin


def test_the_rules_follow_the_configuration() -> None:
    rules = retention_rules(RetentionKeys())
    assert rules.hours == frozenset({4})
    assert (rules.max_used, rules.clean_forcibly, rules.warning, rules.forcibly_enabled) == (0.75, 0.85, 0.90, True)
    some = RetentionKeys(delete_when="04;16;0", disk_max_used_space_ratio=5, clean_file_forcibly_enable=False)
    assert retention_rules(some).hours == frozenset({0, 4, 16})
    assert retention_rules(some).max_used == 0.10  # as Apache takes it
    assert not retention_rules(some).forcibly_enabled
    assert retention_rules(RetentionKeys(disk_max_used_space_ratio=99)).max_used == 0.95


@pytest.mark.parametrize("text", ["", "24", "4;", "4,5", "-1", "four"])
def test_malformed_hours_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"deleteWhen=.*hours from 0 to 23"):
        ServerConfig().updated({"deleteWhen": text})


async def test_no_file_is_removed_before_its_time(setup: Setup, start: Callable[[], None]) -> None:
    setup.change(fileReservedTime=1)
    start()
    await setup.pass_time(75, step=5)
    assert setup.disk.removed == []
    assert setup.store.disk_refusal is None


async def test_expired_files_are_removed_at_the_hour(setup: Setup, start: Callable[[], None]) -> None:
    setup.change(fileReservedTime=70, deleteWhen=f"{HOURS[5]};{HOURS[0]}")
    start()
    await setup.pass_time(59.9)
    assert setup.disk.removed == []
    await setup.pass_time(0.11)
    assert len(setup.log_files()) == 1
    await setup.pass_time(0.15)
    assert len(setup.log_files()) == 2  # 100 ms later
    await setup.pass_time(2)
    assert 2 < len(setup.log_files()) < 10
    oldest = setup.store.earliest_time("T", 0)
    assert NOW - 78 * HOUR < oldest <= NOW - 70 * HOUR
    assert setup.store.min_offset("T", 0) == 100 - (NOW - oldest) // HOUR


async def test_unexpired_files_are_removed_only_when_the_disk_is_too_full(
    setup: Setup, start: Callable[[], None]
) -> None:
    setup.change(fileReservedTime=1, deleteWhen=";".join(map(str, range(24))))
    setup.held = True
    start()
    await setup.pass_time(61)
    assert setup.log_files() == []
    setup.disk.used = 0.95
    await setup.pass_time(10)
    assert setup.log_files()


async def test_a_pass_removes_ten_files(setup: Setup, start: Callable[[], None]) -> None:
    setup.change(fileReservedTime=0, deleteWhen=HOURS[0])
    files = setup.files
    start()
    await setup.pass_time(60.01)
    await setup.pass_time(5)
    assert len(setup.log_files()) == 10
    assert all(path in setup.disk.synced for path in {path.rpartition("/")[0] for path in setup.disk.removed})
    await setup.pass_time(10)
    assert setup.files == 2  # the one being written and the one prepared
    assert len(setup.log_files()) == files - 2


async def test_on_request_only_expired_files_are_removed_at_any_hour(setup: Setup, start: Callable[[], None]) -> None:
    start()
    setup.lifetime.remove_expired_soon()
    await setup.pass_time(61)
    assert setup.disk.removed == []
    setup.change(fileReservedTime=0, cleanResourceInterval=1000, deleteCommitLogFilesInterval=0)
    await setup.pass_time(40, step=1)
    assert setup.files == 2
    setup.store.append([draft(number, body=bytes(3000)) for number in range(3)])
    assert setup.files == 5
    await setup.pass_time(60, step=1)  # twenty passes were requested, and have ended
    assert setup.files == 5
    setup.lifetime.remove_expired_soon()
    await setup.pass_time(5, step=1)
    assert setup.files == 2


async def test_a_disk_that_fills_up_removes_files(
    setup: Setup, start: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    start()
    setup.disk.used = 0.80
    await setup.pass_time(61, step=1)
    assert setup.disk.removed == []  # over 75 %, but nothing is expired
    setup.disk.used = 0.86
    await setup.pass_time(10)
    assert len(setup.log_files()) > 0
    assert setup.store.disk_refusal is None
    setup.disk.used = 0.91
    await setup.pass_time(10)
    assert str(setup.store.disk_refusal) == "CL:  0.91 CQ:  0.91 INDEX:  0.25"
    assert setup.store.append([draft(1)]) == []
    await setup.pass_time(20)
    assert setup.files == 2
    assert caplog.text.count("no file to remove") == 1
    assert caplog.text.count("the disk is 91 % full, sends are refused") == 1
    setup.disk.used = 0.90
    await setup.pass_time(10)
    assert setup.store.disk_refusal is None
    assert len(setup.store.append([draft(1)])) == 1
    assert caplog.text.count("the disk is 90 % full, sends are taken again") == 1


async def test_over_three_quarters_expired_files_are_removed_at_any_hour(
    setup: Setup, start: Callable[[], None]
) -> None:
    setup.change(fileReservedTime=90)
    setup.disk.used = 0.76
    start()
    await setup.pass_time(62, step=1)
    assert 0 < len(setup.log_files()) < setup.files


async def test_a_full_disk_is_noticed_a_second_after_the_start(setup: Setup, start: Callable[[], None]) -> None:
    setup.disk.used = 0.95
    start()
    await setup.pass_time(0.9)
    assert setup.store.disk_refusal is None
    await setup.pass_time(0.2)
    assert setup.store.disk_refusal is not None


async def test_a_disk_without_an_answer_is_checked_again(
    setup: Setup, start: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    setup.disk.fault = OSError(5, "Input/output error")
    start()
    await setup.pass_time(61, step=1)
    assert "disk: [Errno 5] Input/output error" in caplog.text
    assert "expired files: [Errno 5] Input/output error" in caplog.text
    setup.disk.fault = None
    setup.disk.used = 0.86
    await setup.pass_time(12)
    assert setup.log_files()


async def test_a_file_that_cannot_be_removed_is_tried_again(
    setup: Setup, start: Callable[[], None], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.change(fileReservedTime=0, deleteWhen=HOURS[0])
    files = setup.files

    def refuse(_self: Disk, path: str) -> None:
        raise PermissionError(1, "Operation not permitted", path)

    start()
    with monkeypatch.context() as patch:
        patch.setattr(Disk, "remove", refuse)
        await setup.pass_time(65)
    assert "expired files: [Errno 1] Operation not permitted" in caplog.text
    assert setup.files == files
    assert setup.store.min_offset("T", 0) == 0
    await setup.pass_time(20)
    assert setup.files == 2


async def test_the_next_file_waits_until_a_removal_is_on_the_disk(
    setup: Setup, start: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.change(fileReservedTime=0, deleteWhen=HOURS[0])

    def refuse(_self: Disk, _path: str) -> None:
        raise SyncFailed(5, "Input/output error")

    start()
    with monkeypatch.context() as patch:
        patch.setattr(Disk, "sync_directory", refuse)
        await setup.pass_time(65)
        assert len(setup.log_files()) == 1
    await setup.pass_time(20)
    assert setup.files == 2
    assert setup.store.min_offset("T", 0) > 90


async def test_a_removal_is_synced_before_the_next_file_is_removed(
    setup: Setup, start: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when that failed in the pass before, or in several."""
    setup.change(fileReservedTime=0, deleteWhen=HOURS[0])
    done: list[str] = []
    failing = [True]

    def sync(_self: Disk, path: str) -> None:
        if failing[0]:
            raise SyncFailed(5, "Input/output error")
        done.append("sync" if "commitlog" in path else "other")

    def remove(_self: Disk, path: str) -> None:
        done.append("remove" if "commitlog" in path else "other")

    start()
    monkeypatch.setattr(Disk, "sync_directory", sync)
    monkeypatch.setattr(Disk, "remove", remove)
    await setup.pass_time(90, step=1)
    assert done == ["remove"]
    failing[0] = False
    await setup.pass_time(30, step=1)
    assert done[:4] == ["remove", "sync", "remove", "sync"]


async def test_a_queue_file_that_cannot_be_removed_does_not_block_others(
    setup: Setup, start: Callable[[], None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    setup.change(fileReservedTime=0, deleteWhen=HOURS[0], deleteCommitLogFilesInterval=0)
    for number in range(40):
        setup.store.append([draft(number, queue_id=1, body=bytes(400))])
    real = Disk.remove

    def refuse(disk: Disk, path: str) -> None:
        if path.endswith("T/0/" + "0" * 20):
            raise PermissionError(1, "Operation not permitted", path)
        real(disk, path)

    start()
    with monkeypatch.context() as patch:
        patch.setattr(Disk, "remove", refuse)
        await setup.pass_time(90, step=1)
        queues = [path.split("/")[-2] for path in setup.disk.removed if "consumequeue" in path]
        assert set(queues) == {"1"}
        assert "topic T: queue 0: [Errno 1] Operation not permitted" in caplog.text
    await setup.pass_time(20, step=1)
    queues = [path.split("/")[-2] for path in setup.disk.removed if "consumequeue" in path]
    assert set(queues) == {"0", "1"}


async def test_there_is_a_pause_between_two_queues(setup: Setup, start: Callable[[], None]) -> None:
    setup.change(fileReservedTime=0, deleteWhen=HOURS[0], deleteCommitLogFilesInterval=0)
    for number in range(40):
        setup.store.append([draft(number, queue_id=1, body=bytes(400))])
    start()
    await setup.pass_time(60.01)
    queues = [path.split("/")[-2] for path in setup.disk.removed if "consumequeue" in path]
    assert queues
    assert set(queues) == {"0"}
    await setup.pass_time(40)
    queues = [path.split("/")[-2] for path in setup.disk.removed if "consumequeue" in path]
    assert set(queues) == {"0", "1"}


async def test_removals_before_the_start_are_continued(tmp_path: Path, nursery: trio.Nursery) -> None:
    """A stop came between the log's removal and the queues'."""
    made = Setup(tmp_path)
    segment = made.store.retention.detach_log_file(0, 0, forcibly=True)
    while segment is not None:
        segment.remove()
        segment = made.store.retention.detach_log_file(0, 0, forcibly=True)
    made.store.close()
    store: MessageStore = open_store(small(tmp_path, message_index_enable=False), files=made.disk)
    nursery.start_soon(
        FileRetention(
            store, made.config[RetentionKeys], made.clock, run_inline, lambda: False, BackgroundBudget()
        ).clean
    )
    made.disk.removed.clear()
    await made.pass_time(61, step=1)
    assert [path for path in made.disk.removed if "consumequeue" in path]
    assert made.log_files() == []
    store.close()


def test_small_servers_of_tests_ignore_the_machines_disk() -> None:
    rules = retention_rules(small_config(Path()).retention)
    assert (rules.warning, rules.clean_forcibly) == (1.0, 1.0)
