from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.core.clocks.movable_clock import MOST_AHEAD, MovableClock, NotMovable
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import ConfigInvalid
from tests.server.harness import NOW, Clock, mock_clock

HOUR = 3_600_000


class NoFiles(FileSystem):
    """A file system that keeps one file in memory, and may be made to fail."""

    def __init__(self) -> None:
        self.data: bytes | None = None
        self.fails = False

    def read(self, path: str) -> bytes | None:
        return self.data

    def make_directory(self, path: str, *, durable: bool = True, within: str = "") -> None:
        pass

    def write(self, path: str, data: bytes, *, like: str | None = None, durable: bool = True) -> None:
        if self.fails:
            raise OSError
        self.data = data

    def rename(self, path: str, to: str) -> None:
        pass


@pytest.fixture
def files() -> NoFiles:
    return NoFiles()


def clock_of(files: NoFiles, real: Clock | None = None) -> MovableClock:
    return MovableClock(real or Clock(), "clock.json", files)


def test_it_is_ahead_by_the_sum_of_its_moves(files: NoFiles) -> None:
    clock = clock_of(files)
    assert (clock(), clock.advanced) == (NOW, 0)
    clock.advance(HOUR)
    clock.advance(0)
    clock.advance(5)
    assert (clock(), clock.advanced) == (NOW + HOUR + 5, HOUR + 5)


def test_subscribers_are_notified_after_each_move(files: NoFiles) -> None:
    clock = clock_of(files)
    notified: list[int] = []
    clock.moved.subscribe(lambda: notified.append(clock()))
    clock.advance(HOUR)
    assert notified == [NOW + HOUR]


@pytest.mark.parametrize("step", [-1, -HOUR, MOST_AHEAD - 4, 1 << 80])
def test_it_moves_neither_back_nor_too_far(files: NoFiles, step: int) -> None:
    clock = clock_of(files)
    clock.advance(5)
    with pytest.raises(NotMovable, match=r"expected 0 ms or more|at most"):
        clock.advance(step)
    assert clock.advanced == 5
    clock.advance(MOST_AHEAD - 5)


def test_a_new_clock_continues_at_the_offset_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config" / "clock.json"
    MovableClock(Clock(), path).advance(HOUR)
    again = MovableClock(Clock(NOW + 7), path)
    assert again() == NOW + 7 + HOUR
    again.advance(1)
    assert json.loads(path.read_bytes()) == {"steps": [[NOW, HOUR], [NOW + 7, HOUR + 1]]}
    assert [each.name for each in path.parent.iterdir()] == ["clock.json"]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"steps": [[1]]}', b'{"steps": "\xff"}'])
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "clock.json"
    path.write_bytes(content)
    with pytest.raises(ConfigInvalid, match=r"clock\.json is not readable"):
        MovableClock(Clock(), path)


def test_a_move_that_cannot_be_saved_has_no_effect(files: NoFiles) -> None:
    clock = clock_of(files)
    files.fails = True
    with pytest.raises(OSError):  # noqa: PT011 - the file system's own
        clock.advance(HOUR)
    assert clock.advanced == 0


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)), max_size=300), st.data())
def test_a_clients_time_is_that_of_the_clock_at_the_same_moment(
    moves: list[tuple[int, int]], data: st.DataObject
) -> None:
    real, moments = Clock(), []
    clock = clock_of(files := NoFiles(), real)
    for passed, step in moves:
        real.now += passed
        clock.advance(step)
        moments.append((real.now, clock()))
        real.now += 1
    if moments:
        moment, then = data.draw(st.sampled_from(moments[-256:]))
        moment, then = moment + 1, then + 1  # within the ms of the move either is correct
        assert clock.due_time().from_client_time(moment) == then
        assert clock_of(files, real).due_time().from_client_time(moment) == then
    assert clock.due_time().from_client_time(real.now) == clock()


def test_before_its_first_move_a_clients_time_is_the_system_time(files: NoFiles) -> None:
    clock = clock_of(files)
    clock.advance(HOUR)
    assert clock.due_time().from_client_time(NOW) == NOW
    assert DueTime().from_client_time(NOW) == NOW


async def test_sleep_ends_with_a_move_or_when_it_is_over(files: NoFiles) -> None:
    clock = clock_of(files)
    time = clock.due_time()
    woken: list[str] = []

    async def wait(name: str, seconds: float) -> None:
        await time.sleep(seconds)
        woken.append(name)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait, "short", 1)
        nursery.start_soon(wait, "long", 1000)
        await trio.testing.wait_all_tasks_blocked()
        mock_clock().jump(1)
        await trio.testing.wait_all_tasks_blocked()
        assert woken == ["short"]
        clock.advance(0)
        await trio.testing.wait_all_tasks_blocked()
        assert woken == ["short", "long"]


async def test_elapsed_time_includes_the_moves_since_its_start(files: NoFiles) -> None:
    clock_of(files).advance(HOUR)
    clock = clock_of(files)
    time = clock.due_time()
    assert time.elapsed() == trio.current_time()
    clock.advance(1500)
    assert time.elapsed() == trio.current_time() + 1.5
