"""Timer messages over forty days and stops of every kind, against a list of what is due when.

The steps: messages at any distance, markers before and after the messages they cancel, time that passes or jumps, a
disk that refuses; stops that are clean, kills at any write, and power cuts with any of the dirty pages lost. Each
message that the log still has comes exactly once, and never before its ms; a cancelled one never.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from rocketwire.store.errors import DiskNearlyFull
from tests.server.harness import Clock
from tests.server.timer.lives import Life
from tests.server.timer.support import timer_draft
from tests.store import disk_images
from tests.store.crash_disk import CrashDisk

#: Precision in ms and window in slots: two days as by default, two hours, and ten seconds.
SCALES = [(1000, 172_800), (1000, 7200), (100, 100)]
#: That of the next start; None: as before.
PRECISIONS = st.sampled_from([None, None, None, 100, 1000])
#: Distances in windows, and in ms beyond that.
DISTANCES = st.tuples(
    st.sampled_from([0, 0, 0, 0.01, 0.3, 0.5, 0.99, 1, 1.01, 1.4, 2, 2.5, 3, 7, 19.9]),
    st.sampled_from([1, 2, 50, 99, 100, 999, 1000, 1001, 1500, 4000]),
)


class Expected(NamedTuple):
    """A message that was stored."""

    due: int
    key: str


class TimerModel(RuleBasedStateMachine):
    @initialize(scale=st.sampled_from(SCALES))
    def start(self, scale: tuple[int, int]) -> None:
        shared = Path("/dev/shm")
        self.work = Path(tempfile.mkdtemp(prefix="rocketwire-timer-", dir=shared if shared.is_dir() else None))
        self.precision, window = scale
        self.window = window * self.precision
        self.slots = window
        self.machines = self.numbers = 0
        self.clock = Clock()
        self.expected: dict[bytes, Expected] = {}
        self.cancelled: set[bytes] = set()
        #: Those whose marker was lost by a power cut: either outcome is right.
        self.open: set[bytes] = set()
        self.full = False
        self.boot({})

    def boot(self, left: dict[str, bytes | None]) -> None:
        self.machines += 1
        self.root = self.work / str(self.machines)
        self.root.mkdir()
        disk_images.put(left, self.root)
        self.disk = CrashDisk(self.root)
        self.begin()

    def begin(self, fuse: int | None = None) -> None:
        self.full = False
        settings = {"timer_precision": self.precision, "timer_roll_window": self.slots}
        self.life = Life(self.root, self.clock, files=self.disk, fuse=fuse, commit_log_file_size=1 << 16, **settings)
        if fuse is not None and not self.life.alive:
            self.life.kill()
            self.begin()
        self.life.fuse = None

    # --- messages ---

    def due_in(self, distance: tuple[float, int]) -> int:
        return self.clock.now + int(distance[0] * self.window) + distance[1]

    def put(self, due: int, key: str, **more: str) -> bytes:
        body = b"%d" % len(self.expected) + key.encode()
        assert self.life.send(timer_draft(body, due, key=key, **more))
        return body

    def new_key(self) -> str:
        self.numbers += 1
        return f"K{self.numbers}"

    @precondition(lambda self: not self.full)
    @rule(distances=st.lists(DISTANCES, min_size=1, max_size=5))
    def send(self, distances: list[tuple[float, int]]) -> None:
        for distance in distances:
            key, due = self.new_key(), self.due_in(distance)
            self.expected[self.put(due, key)] = Expected(due, key)

    @precondition(lambda self: not self.full and self.undelivered())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        body = data.draw(st.sampled_from(sorted(self.undelivered())))
        due, key = self.expected[body]
        self.put(due, f"D{key}", TIMER_DEL_UNIQKEY=key)
        self.cancelled.add(body)

    @precondition(lambda self: not self.full)
    @rule(distance=DISTANCES, between=st.sampled_from([0, 0, 1, 1000, 100_000]))
    def cancel_before(self, distance: tuple[float, int], between: int) -> None:
        """The marker is stored first."""
        key, due = self.new_key(), self.due_in(distance)
        self.put(due, f"D{key}", TIMER_DEL_UNIQKEY=key)
        self.life.pass_time(min(between, due - self.clock.now - 1))
        body = self.put(due, key)
        self.expected[body] = Expected(due, key)
        self.cancelled.add(body)

    def undelivered(self) -> list[bytes]:
        """The messages that may still be cancelled."""
        done = {each.body for each in self.life.delivered()}
        return [
            body
            for body, (due, _) in self.expected.items()
            if body not in done and body not in self.cancelled and body not in self.open and due > self.clock.now
        ]

    # --- time ---

    @rule(ms=st.sampled_from([0, 1, 98, 499, 1000, 1001, 5000]))
    def pass_time(self, ms: int) -> None:
        self.life.pass_time(ms)
        self.check()

    @rule(windows=st.sampled_from([0.1, 0.5, 1.0, 3.0]))
    def pass_windows(self, windows: float) -> None:
        for _ in range(int(windows * 10)):
            self.life.pass_time(self.window // 10)
        self.check()

    @precondition(lambda self: self.expected)
    @rule()
    def pass_to_the_next(self) -> None:
        """To the ms before the next message is due, and to it."""
        due = min((each.due for each in self.expected.values() if each.due > self.clock.now), default=None)
        if due is not None:
            self.life.pass_time(due - 1 - self.clock.now)
            self.check()
            self.life.pass_time(1)
            self.check()

    @rule(windows=st.sampled_from([-0.5, -0.001, 0.3, 2.2]))
    def set_clock(self, windows: float) -> None:
        self.life.pass_time(int(windows * self.window))
        self.check()

    # --- faults and stops ---

    @rule()
    def toggle_disk(self) -> None:
        self.full = not self.full
        self.life.timers.store.disk_refusal = DiskNearlyFull("full") if self.full else None

    @rule(windows=st.sampled_from([0, 0, 0.2, 1.5, 9.5]), precision=PRECISIONS)
    def stop(self, windows: float, precision: int | None) -> None:
        self.precision = precision or self.precision
        self.life.stop()
        self.clock.now += int(windows * self.window)
        self.begin()
        self.check()

    @rule(windows=st.sampled_from([0, 0, 0.2, 1.5, 9.5]), precision=PRECISIONS)
    def kill(self, windows: float, precision: int | None) -> None:
        self.precision = precision or self.precision
        self.life.kill()
        self.clock.now += int(windows * self.window)
        self.begin()
        self.check()

    @rule(
        windows=st.sampled_from([0.0, 0.0, 0.1, 0.5, 1.0]),
        ms=st.sampled_from([0, 1, 1000, 4000]),
        fuse=st.integers(0, 30),
        again=st.none() | st.integers(0, 10),
    )
    def kill_at_work(self, windows: float, ms: int, fuse: int, again: int | None) -> None:
        """A kill in the middle of writes, and maybe another one in the recovery."""
        self.life.fuse = fuse
        self.life.pass_time(int(windows * self.window) + ms)
        self.life.kill()
        self.begin(again)
        self.check()

    @rule(fuse=st.integers(0, 30))
    def kill_at_stop(self, fuse: int) -> None:
        self.life.kill_at_stop(fuse)
        self.begin()
        self.check()

    @rule(changes=st.integers(0, 8), pages=st.integers(0, (1 << 64) - 1))
    def cut_power(self, changes: int, pages: int) -> None:
        left = disk_images.after(self.disk.image(), disk_images.chosen(changes, pages))
        self.life.kill()
        self.boot(left)
        self.forget_what_is_lost()
        self.check()

    def forget_what_is_lost(self) -> None:
        waiting = self.life.waiting()
        markers = {each.properties.get("TIMER_DEL_UNIQKEY") for each in waiting}
        present = {each.body for each in waiting} | {each.body for each in self.life.delivered()}
        self.expected = {body: each for body, each in self.expected.items() if body in present}
        lost = {body for body in self.cancelled if body in present and self.expected[body].key not in markers}
        self.cancelled = {body for body in self.cancelled if body in present} - lost
        self.open = {body for body in self.open if body in present} | lost

    # --- what must hold ---

    def check(self) -> None:
        found = self.life.delivered()
        for each in found:
            assert each.stored >= self.expected[each.body].due
        count = Counter(each.body for each in found)
        assert not [body for body, times in count.items() if times > 1]
        assert not self.cancelled & count.keys()
        if self.late() and not self.full:
            self.life.pass_time(1)  # a message that was overdue when it was added comes at the next ms
            assert not self.late()

    def late(self) -> set[bytes]:
        delivered = {each.body for each in self.life.delivered()}
        due = {body for body, each in self.expected.items() if each.due < self.clock.now}
        return due - delivered - self.cancelled - self.open

    def teardown(self) -> None:
        if not hasattr(self, "life"):
            return
        self.life.timers.store.disk_refusal = None
        self.full = False
        self.life.rest()
        while self.undelivered_yet():
            self.life.pass_time(self.window // 4)
        self.check()
        self.life.stop()
        shutil.rmtree(self.work)

    def undelivered_yet(self) -> bool:
        return any(each.due > self.clock.now for each in self.expected.values())


TestTimerModel = TimerModel.TestCase
TestTimerModel.settings = hypothesis_settings(deadline=None, max_examples=20, stateful_step_count=20)
