"""A wall clock that can be set ahead while the server runs, for tests of applications (key `movableClock`).

Only what goes by the wall clock moves: time stamps, and when delayed messages, retries, timers and transaction checks
are due. Connections, heartbeats, locks and time-outs go by the event loop's clock, and so a client that is alive stays.

How far the clock is ahead is saved in the store: after a restart, even after a crash, messages are not from the future.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import deque
from pathlib import Path
from typing import Final

import msgspec
import trio

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import ConfigInvalid
from rocketwire.store.event import Event

log = logging.getLogger(__name__)

MOST_AHEAD: Final = 10 * 365 * 86_400_000
"""The clock can be ahead by at most so many ms: some files have only 31 bits for seconds."""
_KEPT_STEPS: Final = 256


class NotMovable(Exception):
    """The clock cannot be moved so far. Its text names what is allowed."""


class _Saved(msgspec.Struct, frozen=True):
    """The file: when the clock was moved, and by how much in all. Both in ms; the first in real time."""

    steps: tuple[tuple[int, int], ...]


class MovableClock:
    """A clock that is ahead of another one.

    Attributes:
        real: The other one.
        moved: Called after each move.
    """

    def __init__(self, real: Clock, path: str | Path, files: FileSystem | None = None) -> None:
        """Continue with the offset that this file has.

        Args:
            real: The clock that cannot be moved.
            path: The file with the offset from that clock; it may be missing.
            files: The file system.

        Raises:
            ConfigInvalid: the file is not one of these.
            OSError: it cannot be read.
        """
        self.real = real
        self.moved = Event[[]]()
        self._path = str(path)
        self._files = files or FileSystem()
        self._steps = deque(self._read(), maxlen=_KEPT_STEPS)
        self._at_start = self.advanced
        self._woken = trio.Event()

    def _read(self) -> tuple[tuple[int, int], ...]:
        data = self._files.read(self._path)
        if data is None:
            return ()
        try:
            return msgspec.json.decode(data, type=_Saved).steps
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigInvalid(self._path, str(error)) from error

    def __call__(self) -> int:
        """The time in ms since 1970."""
        return self.real() + self.advanced

    @property
    def advanced(self) -> int:
        """How many ms it is ahead."""
        return self._steps[-1][1] if self._steps else 0

    def advance(self, milliseconds: int) -> None:
        """Move the clock ahead. What is due then is delivered at once, by the tasks that wait for it.

        Raises:
            NotMovable: it would go back, or too far ahead.
            OSError: how far it is ahead cannot be saved; it was not moved.
        """
        if milliseconds < 0:
            raise NotMovable("time only goes forward: expected 0 ms or more")
        ahead = self.advanced + milliseconds
        if ahead > MOST_AHEAD:
            raise NotMovable(f"at most {MOST_AHEAD} ms ahead of the real time in all")
        steps = (*self._steps, (self.real(), ahead))[-_KEPT_STEPS:]
        self._files.make_directory(str(Path(self._path).parent), durable=False)
        self._files.write(f"{self._path}.tmp", msgspec.json.encode(_Saved(steps)), durable=False)
        self._files.rename(f"{self._path}.tmp", self._path)
        self._steps.append(steps[-1])
        log.warning(
            "the clock is set ahead by %(step)d ms, by %(ahead)d ms in all", {"step": milliseconds, "ahead": ahead}
        )
        self.moved()
        self._woken.set()
        self._woken = trio.Event()

    def due_time(self) -> DueTime:
        """How time passes by this clock."""
        return DueTime(elapsed=self._elapsed, sleep=self._sleep, from_client_time=self._of_client, moved=self.moved)

    def _elapsed(self) -> float:
        return trio.current_time() + (self.advanced - self._at_start) / 1000

    async def _sleep(self, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await self._woken.wait()

    def _of_client(self, moment: int) -> int:
        """The time here when a clock that was not moved, as a client's, showed a moment.

        Of the moves only the last ones are known; before them, the clock was as far ahead as after the first of these.
        """
        steps = self._steps
        found = bisect_left(steps, moment, key=_when)
        if found:
            return moment + steps[found - 1][1]
        return moment + (steps[0][1] if len(steps) == _KEPT_STEPS else 0)


def _when(step: tuple[int, int]) -> int:
    return step[0]
