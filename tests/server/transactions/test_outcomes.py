"""One outcome for every half message, whatever happens to the broker or its machine, at whatever write.

Half messages are sent, decided (also again, with former offsets, against the first decision), checked and dropped,
while the process is killed and the machine loses power: between two calls, or at any step of one, with any of the
dirty pages lost. Of every half message that the log still has, exactly one thing is true: it is undecided, once; it was
delivered, once; it was dropped, once; or a producer had it rolled back.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import trio.testing
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from rocketwire.server.transactions.half import HALF
from tests.server.harness import Clock, run
from tests.server.transactions.setup import COMMIT, GAVE_UP, REAL, ROLLBACK, Setup, place_of
from tests.store import disk_images
from tests.store.crash_disk import CrashDisk
from tests.store.disk_images import EVERYTHING, Crash, DirectoryImage
from tests.store.support import kill

CRASHES = st.sampled_from(
    [
        EVERYTHING,
        disk_images.NOTHING,
        disk_images.EVEN,
        disk_images.ODD,
        disk_images.LOG,
        disk_images.ALL_BUT_LOG,
        disk_images.FIRST_HALF,
        disk_images.SECOND_HALF,
        *map(disk_images.only, range(4)),
        *map(disk_images.all_but, range(4)),
    ]
)
MOST_CHECKS = 3


class Outcomes(RuleBasedStateMachine):
    @initialize(log_size=st.sampled_from([8192, 1 << 16]))
    def start(self, log_size: int) -> None:
        shared = Path("/dev/shm")
        self.work = Path(tempfile.mkdtemp(prefix="rocketwire-outcomes-", dir=shared if shared.is_dir() else None))
        self.log_size = log_size
        self.clock = Clock()
        self.machines = 0
        self.sent = 0
        #: The decisions of producers for each message; and the answered ones, unless the machine lost them.
        self.requested: dict[bytes, set[int]] = {}
        self.settled: dict[bytes, int] = {}
        self.boot({})

    def boot(self, left: dict[str, bytes | None]) -> None:
        """A machine starts, with the disk that a former one left."""
        self.machines += 1
        root = self.work / str(self.machines)
        root.mkdir()
        disk_images.put(left, root)
        self.disk = CrashDisk(root)
        self.setup = Setup(root / "store", self.clock, self.disk, commit_log_file_size=self.log_size)
        self.setup.live.update({"transactionCheckMax": str(MOST_CHECKS)})
        self.check_all()

    def check_all(self) -> None:
        """Every half message has one outcome."""
        setup = self.setup
        delivered, gave_up = Counter(setup.bodies(REAL)), Counter(setup.bodies(GAVE_UP))
        undecided = Counter(bytes(half.body) for _, half in setup.state.undecided())
        for body in set(setup.bodies(HALF)):
            found = delivered[body], gave_up[body], undecided[body]
            assert sum(found) == 1 or (sum(found) == 0 and ROLLBACK in self.requested[body]), (body, found)
            assert not delivered[body] or COMMIT in self.requested[body]
        assert delivered.keys() | gave_up.keys() <= set(setup.bodies(HALF))
        for body, decision in self.settled.items():
            assert delivered[body] == (decision == COMMIT)
            assert not undecided[body]
            assert not gave_up[body]

    # --- what producers and the broker do ---

    @rule(size=st.sampled_from([10, 300, 2000]))
    def send(self, size: int) -> None:
        self.sent += 1
        body = (b"%d." % self.sent).ljust(size, b"x")
        self.requested[body] = set()
        self.setup.send(f"key {self.sent}", body)
        self.clock.now += 10

    @precondition(lambda self: self.setup.state.end)
    @rule(which=st.integers(0), decision=st.sampled_from([COMMIT, COMMIT, ROLLBACK]))
    def decide(self, which: int, decision: int) -> None:
        halves = self.setup.messages(HALF)
        half = halves[which % len(halves)]
        body = bytes(half.body)
        open_now = any(bytes(each.body) == body for _, each in self.setup.state.undecided())
        self.requested[body].add(decision)
        self.setup.decide(place_of(half), decision)
        if open_now:
            self.settled[body] = decision

    @rule(passed=st.sampled_from([0, 6000, 60_000]))
    def check(self, passed: int) -> None:
        self.clock.now += passed
        run(self.setup.transactions.check, clock=trio.testing.MockClock())

    @rule()
    def flush(self) -> None:
        self.setup.flush()

    @rule()
    def note(self) -> None:
        self.setup.state.note_progress()

    @rule()
    def persist(self) -> None:
        self.setup.offsets.persist()

    # --- what happens to them ---

    @rule()
    def restart(self) -> None:
        self.setup.reopen()
        self.setup.live.update({"transactionCheckMax": str(MOST_CHECKS)})
        self.check_all()

    def crash(self, image: DirectoryImage, how: Crash) -> None:
        kill(self.setup.store)
        if how is not EVERYTHING:
            self.settled = {}
        self.boot(disk_images.after(image, how))

    @rule(how=CRASHES)
    def stop(self, how: Crash) -> None:
        self.crash(self.disk.image(), how)

    def stop_within(self, call: Callable[[], None], step: int, how: Crash) -> None:
        images: list[DirectoryImage] = []
        settled = dict(self.settled)
        self.disk.observer = lambda _: images.append(self.disk.image())
        call()
        self.disk.observer = None
        self.settled = settled
        images.append(self.disk.image())
        self.crash(images[step % len(images)], how)

    @precondition(lambda self: self.setup.state.end)
    @rule(which=st.integers(0), decision=st.sampled_from([COMMIT, ROLLBACK]), step=st.integers(0, 50), how=CRASHES)
    def stop_within_a_decision(self, which: int, decision: int, step: int, how: Crash) -> None:
        self.stop_within(lambda: self.decide(which, decision), step, how)

    @rule(step=st.integers(0, 200), how=CRASHES)
    def stop_within_a_check(self, step: int, how: Crash) -> None:
        self.stop_within(lambda: self.check(60_000), step, how)

    @rule(step=st.integers(0, 50), how=CRASHES)
    def stop_within_a_save(self, step: int, how: Crash) -> None:
        def save() -> None:
            self.setup.flush()
            self.setup.state.note_progress()
            self.setup.offsets.persist()

        self.stop_within(save, step, how)

    def teardown(self) -> None:
        if hasattr(self, "setup"):
            self.check_all()
            kill(self.setup.store)
            shutil.rmtree(self.work)


TestOutcomes = Outcomes.TestCase
TestOutcomes.settings = hypothesis_settings(max_examples=20, stateful_step_count=25, deadline=None)
