"""Delayed messages over stops of every kind, in any order: each that the log still has is delivered exactly once.

The steps: sends, time, groups of deliveries, flushes, saved offsets; stops that are clean, of the process, and of the
machine with any of its dirty pages lost; and offsets as Apache's broker leaves them when killed.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rocketwire.wire.bodies.fastjson import loads
from tests.server.delay.support import LEVELS, SCHEDULE, Delays
from tests.server.harness import Clock, properties_text
from tests.store import disk_images
from tests.store.crash_disk import CrashDisk
from tests.store.support import bodies


class DelayModel(RuleBasedStateMachine):
    @initialize(log_size=st.sampled_from([4096, 1 << 16]))
    def start(self, log_size: int) -> None:
        shared = Path("/dev/shm")
        self.work = Path(tempfile.mkdtemp(prefix="rocketwire-delay-", dir=shared if shared.is_dir() else None))
        self.machines = 0
        self.numbers = 0
        self.log_size = log_size
        self.clock = Clock()
        #: Without offsets of the log, equal copies and times of storing cannot be distinguished.
        self.twins = self.set_back = False
        self.boot({})

    def boot(self, left: dict[str, bytes | None]) -> None:
        self.machines += 1
        self.root = self.work / str(self.machines)
        self.root.mkdir()
        disk_images.put(left, self.root)
        self.disk = CrashDisk(self.root)
        self.open()

    def open(self) -> None:
        self.delays = Delays(self.root, clock=self.clock, files=self.disk, commit_log_file_size=self.log_size)

    @rule(levels=st.lists(st.integers(1, 3), min_size=1, max_size=6))
    def send(self, levels: list[int]) -> None:
        for level in levels:
            self.numbers += 1
            self.delays.send(b"%d" % self.numbers, level)

    @precondition(lambda self: self.place_is_known())
    @rule(level=st.integers(1, 3), count=st.integers(2, 4))
    def send_twins(self, level: int, count: int) -> None:
        self.twins = True
        for _ in range(count):
            self.delays.send(b"twin", level, properties=properties_text(DELAY=str(level)), born_timestamp=7)

    @rule()
    def send_plain(self) -> None:
        """Other messages between, some of which resemble copies."""
        self.numbers += 1
        text = properties_text(UNIQ_KEY=f"U{self.numbers}", REAL_TOPIC="T", REAL_QID="0")
        self.delays.send(b"REAL_TOPIC\x01", 0, topic="Other", properties=text)

    @rule(ms=st.sampled_from([0, 1, 400, 1000, 5000, 30_000]))
    def pass_time(self, ms: int) -> None:
        self.clock.now += ms

    @precondition(lambda self: self.place_is_known())
    @rule()
    def set_clock_back(self) -> None:
        self.set_back = True
        self.clock.now -= 10_000

    def place_is_known(self) -> bool:
        """Whether the file has the physical offset from which copies are searched, so that no time is needed."""
        path = self.root / "store" / "config" / "delayOffset.json"
        return path.exists() and b"logOffset" in path.read_bytes()

    @rule(groups=st.integers(1, 6))
    def deliver(self, groups: int) -> None:
        self.delays.settle()
        for _ in range(groups):
            self.delays.delivery.deliver()

    @rule(levels=st.lists(st.integers(1, 3), min_size=1, max_size=6), ms=st.integers(0, 6000), groups=st.integers(1, 8))
    def run_normally(self, levels: list[int], ms: int, groups: int) -> None:
        """The most frequent steps of a broker."""
        self.send(levels)
        self.pass_time(ms)
        self.deliver(groups)

    @rule(
        ms=st.integers(0, 6000), kill=st.sampled_from(["kill", "kill_apache", "crash"]), pages=st.integers(0, 1 << 40)
    )
    def stop_after_delivery(self, ms: int, kill: str, pages: int) -> None:
        """A stop soon after a delivery, which is the critical one."""
        self.pass_time(ms)
        self.deliver(4)
        if kill == "crash":
            self.crash(pages % 9, pages)
        elif kill == "kill" or self.twins or self.set_back:
            self.kill()
        else:
            self.kill_apache()

    @rule()
    def persist(self) -> None:
        self.delays.settle()
        self.delays.persist()

    @rule()
    def flush(self) -> None:
        self.delays.store.flush_to(self.delays.store.max_physical_offset)

    @rule()
    def flush_and_persist(self) -> None:
        self.flush()
        self.persist()

    @rule()
    def stop(self) -> None:
        self.delays.stop()
        self.open()

    @rule()
    def kill(self) -> None:
        self.delays.kill()
        self.open()

    @precondition(lambda self: not self.twins and not self.set_back)
    @rule()
    def kill_apache(self) -> None:
        """Its file has no physical offset; the offsets that it saved last need not be the latest."""
        self.delays.kill()
        path = self.root / "store" / "config" / "delayOffset.json"
        if path.exists():
            table = loads(path.read_bytes())
            table.pop("logOffset", None)
            text = json.dumps(table).encode()
            self.disk.write(str(path), text)
        self.open()

    @rule(changes=st.integers(0, 8), pages=st.integers(0, (1 << 64) - 1))
    def crash(self, changes: int, pages: int) -> None:
        left = disk_images.after(self.disk.image(), disk_images.chosen(changes, pages))
        self.delays.kill()
        self.boot(left)

    def waiting(self) -> list[list[bytes]]:
        return [bodies(self.delays.store, SCHEDULE, level) for level in range(len(LEVELS))]

    @invariant()
    def nothing_is_delivered_twice(self) -> None:
        if hasattr(self, "delays"):
            waiting = Counter(body for level in self.waiting() for body in level)
            assert Counter(self.delays.delivered()) <= waiting

    def teardown(self) -> None:
        if not hasattr(self, "delays"):
            return
        self.delays.deliver()
        self.delays.pass_time(2 * max(LEVELS))
        waiting = self.waiting()
        delivered = self.delays.delivered()
        assert Counter(delivered) == Counter(body for level in waiting for body in level)
        for level in waiting:
            if b"twin" not in level:
                assert [body for body in delivered if body in set(level)] == level
        assert self.delays.delivery.dropped == 0
        self.delays.stop()
        shutil.rmtree(self.work)


TestDelayModel = DelayModel.TestCase
TestDelayModel.settings = hypothesis_settings(deadline=None, max_examples=60, stateful_step_count=25)
