"""A timer over several process lives: it runs in a thread, so that a test of plain calls drives it in steps.

A life ends cleanly, or killed: at rest, or in the middle of its writes, where `fuse` counts the remaining ones.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import trio
import trio.testing

from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.disk.files import FileSystem
from rocketwire.wire.message import decode_record
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.properties import decode_properties
from tests.server.harness import Clock
from tests.server.timer.support import Timers


class Killed(BaseException):
    """The process was killed."""


class Stored(NamedTuple):
    """A record of a queue."""

    body: bytes
    stored: int
    properties: dict[str, str]


T = TypeVar("T", bound=Timers)


class LifeOf(Generic[T]):
    """The life of one process with a store."""

    def __init__(
        self,
        made: Callable[..., T],
        root: Path,
        clock: Clock,
        *,
        files: FileSystem,
        fuse: int | None = None,
        **settings: Any,
    ) -> None:
        self.timers = made(root, clock=clock, files=files, **settings)
        self.fuse = fuse
        self._hook()
        self._token: trio.lowlevel.TrioToken | None = None
        self._rests = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._rests.wait()

    # --- the thread ---

    def _run(self) -> None:
        try:
            trio.run(self._main, clock=trio.testing.MockClock())
        except* Killed:
            pass
        finally:
            self._token = None
            self._rests.set()

    async def _main(self) -> None:
        async with trio.open_nursery() as nursery:
            self._stop = nursery.cancel_scope
            self.timers.start(nursery)
            await _rest()
            self._token = trio.lowlevel.current_trio_token()
            self._rests.set()
            await trio.sleep_forever()

    def _call(self, function: Callable[..., Awaitable[None]], *args: Any) -> bool:
        """Run a function in the thread; false when the process was killed meanwhile."""
        if self._token is None:
            return False
        try:
            trio.from_thread.run(function, *args, trio_token=self._token)
        except (trio.RunFinishedError, trio.Cancelled):
            self._thread.join()
        return self._token is not None

    # --- writes ---

    def _write(self) -> None:
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                raise Killed

    def _hook(self) -> None:
        """Count each write; a group of records is killed in its middle, too."""
        index, store = self.timers.timer._index, self.timers.store
        settle, append, put, save = index.log.settle, index.log.append, index.wheel.put, index._saver.save
        store_append = store.append

        def one_by_one(outcomes: list[tuple[int, int]]) -> dict[int, int]:
            settled: Counter[int] = Counter()
            for outcome in outcomes:
                self._write()
                settled.update(settle([outcome]))
            self._write()
            return settled

        def in_order(drafts: list[Draft]) -> list[AppendResult]:
            if self.fuse is None:
                return store_append(drafts)
            appended: list[AppendResult] = []
            at = 0
            while at < len(drafts):
                self._write()
                together = drafts[at : at + max(1, drafts[at].group_size)]
                appended += store_append(together)
                at += len(together)
            self._write()
            return appended

        def counted(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **options: Any) -> Any:
                self._write()
                result = function(*args, **options)
                self._write()
                return result

            return call

        for owner, name, hooked in (
            (index.log, "settle", one_by_one),
            (index.log, "append", counted(append)),
            (index.wheel, "put", counted(put)),
            (index._saver, "save", counted(save)),
            (store, "append", in_order),
        ):
            setattr(owner, name, hooked)

    # --- what happens ---

    def do(self, function: Callable[[], None]) -> bool:
        """Run a function in the thread; false when the process was killed by then."""

        async def call() -> None:
            function()
            await trio.lowlevel.checkpoint()

        return self._call(call)

    @property
    def alive(self) -> bool:
        return self._token is not None

    def pass_time(self, ms: int) -> None:
        """Advance the clock, and let the timer do all that is due by then."""
        self.timers.clock.now += ms
        self._call(_pass, ms)

    def send(self, draft: Draft) -> bool:
        """Store a message; false when it was not stored."""
        taken: list[AppendResult] = []

        async def store() -> None:
            taken.extend(self.timers.store.append([draft]))
            await trio.lowlevel.checkpoint()

        self._call(store)
        return bool(taken)

    def rest(self) -> None:
        self._call(_rest)

    def kill(self) -> None:
        """End it as by a kill."""
        self._end()
        self.timers.kill()

    def stop(self) -> None:
        """End it cleanly."""
        self._end()
        self.fuse = None
        self.timers.stop()

    def kill_at_stop(self, fuse: int) -> None:
        """Begin a clean stop that is killed after so many writes."""
        self._end()
        self.fuse = fuse
        with contextlib.suppress(Killed):
            self.timers.timer.close()
        self.timers.kill()

    def _end(self) -> None:
        token = self._token
        if token is not None:
            with contextlib.suppress(trio.RunFinishedError):  # a kill may be in progress
                token.run_sync_soon(self._stop.cancel)
        self._thread.join()

    # --- what there is ---

    def stored(self, topic: str) -> list[Stored]:
        store = self.timers.store
        found = []
        for offset in range(store.min_offset(topic, 0), store.max_offset(topic, 0)):
            place = store.place((topic, 0), offset)
            assert place is not None
            record = store.record_at(place)
            assert record is not None
            message = decode_record(record)
            found.append(Stored(message.body, message.store_timestamp, decode_properties(message.properties.decode())))
        return found

    def delivered(self) -> list[Stored]:
        return self.stored("T")

    def waiting(self) -> list[Stored]:
        return self.stored(TIMER_TOPIC)


class Life(LifeOf[Timers]):
    """The life of a timer alone."""

    def __init__(self, root: Path, clock: Clock, **options: Any) -> None:
        super().__init__(Timers, root, clock, **options)


async def _pass(ms: int) -> None:
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, trio.testing.MockClock)
    clock.jump(max(0, ms) / 1000)
    await _rest()


async def _rest() -> None:
    """Wait until the timer has done all that is due at this time."""
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, trio.testing.MockClock)
    for _ in range(4):
        await trio.testing.wait_all_tasks_blocked()
        clock.jump(0.6)
    await trio.testing.wait_all_tasks_blocked()
