"""Every step of a store's life refused, and the machine stopped at every one of them.

The life (life.py) is played once to count its steps. For each step the machine stops before and after it, and what a
disk could hold then (disk_images) is opened and compared with what was promised (witness). For each step and each
way to refuse it, the life is played on to its end, and nothing that was taken may be missing.

By default a few of the many states of a stopped disk are checked for each step, others at the next, and of the refusals
for want of descriptors or memory (open, map and whatever opens something) those that are reached by different ways.
ROCKETWIRE_FAULTS=all checks everything, in minutes.
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.topics import TopicTable
from tests.store import disk_images
from tests.store.crash_disk import NOT_STEPS, REFUSALS, CrashDisk, Step
from tests.store.disk_images import EVERYTHING, NOTHING, Crash, DirectoryImage
from tests.store.life import Life, Moment
from tests.store.support import Clock, kill, open_store
from tests.store.witness import Promise, check

ALL = os.environ.get("ROCKETWIRE_FAULTS") == "all"

#: Checked for every stop; and those that alternate.
ALWAYS = (EVERYTHING, NOTHING)
ALTERNATING = (
    disk_images.EVEN,
    disk_images.ALL_BUT_LOG,
    disk_images.ENTRIES,
    disk_images.LOG,
    disk_images.LAST_ENTRY_LOST,
    disk_images.ODD,
    disk_images.HALF_OF_ENTRIES,
    disk_images.FIRST_HALF,
    disk_images.SECOND_HALF,
)
#: Refusals that have nothing to do with the disk, and leave it as it was.
HARMLESS = frozenset({errno.EMFILE, errno.ENOMEM})


class Stop(NamedTuple):
    """The machine stops at a step: what the disk and its cache hold, and what must be true."""

    step: Step
    image: DirectoryImage
    moment: Moment


class Reborn:
    """A disk after a crash, with the store on it opened and found right."""

    def __init__(self, left: dict[str, bytes | None], root: Path, life: Life, moment: Moment) -> None:
        root.mkdir()
        disk_images.put(left, root)
        self.life = life
        self.disk = CrashDisk(root)
        self.witness = life.witness.copy()
        self.store = open_store(life.settings_at(root), Clock(life.clock.now + 10_000), self.disk)
        self.witness.crashed(check(self.store, self.witness, moment.promise))
        check_tables(life, self.disk, self.store.settings.root / "config", moment)

    def exact(self) -> Moment:
        """What must be true from now on: nothing of what was found again may be missing."""
        count = len(self.witness.records)
        return Moment(Promise(count, count, self.store._log.start), (0, 0, len(self.life.tables) - 1))

    def queue_files(self) -> dict[str, bytes | None]:
        """The files of the consume queues, which a start after this one leaves as they are."""
        left = disk_images.after(self.disk.image(), EVERYTHING)
        return {path: data for path, data in left.items() if "consumequeue/" in path}


def check_tables(life: Life, disk: CrashDisk, config: Path, moment: Moment) -> None:
    """The tables have their content of one of the times when they were written."""
    oldest, _, newest = moment.tables
    versions = life.tables[oldest : newest + 1]
    topics = TopicTable.open(config / "topics.json", disk, clock=life.clock)
    offsets = OffsetTable.open(config / "consumerOffset.json", disk)
    assert topics.names() in [names for names, _ in versions]
    assert offsets.query("G", "A", 0) in [offset for _, offset in versions]


def check_afterwards(reborn: Reborn, root: Path, crash: Crash) -> None:
    """What was recovered is durable, and stays as it is; what is appended then is right, and durable when flushed."""
    again = Reborn(disk_images.after(reborn.disk.image(), crash), root / "again", reborn.life, reborn.exact())
    if crash is EVERYTHING:
        assert again.queue_files() == reborn.queue_files()
    life = again.life.with_witness(again.witness)
    places = (("A", 0), ("A", 1), ("B", 0))
    drafts = [life.draft(topic=topic, queue_id=queue_id, body=700) for topic, queue_id in places]
    assert again.witness.append(again.store, drafts) == len(drafts)
    again.store.flush_to(again.store.max_physical_offset)
    third = Reborn(disk_images.after(again.disk.image(), crash), root / "third", life, again.exact())
    third.store.close()
    last = Reborn(disk_images.after(third.disk.image(), crash), root / "last", life, third.exact())
    kill(again.store)
    kill(last.store)


def stops_of(root: Path) -> tuple[Life, list[Stop]]:
    """Play a life, and stop before and after each of its steps."""
    life = Life(root)
    stops = watch(life.disk, life.moment)
    life.play()
    assert not life.errors
    return life, stops


def watch(disk: CrashDisk, moment: Callable[[], Moment]) -> list[Stop]:
    """Stop before and after each step that comes."""
    stops: list[Stop] = []
    disk.observer = lambda step: stops.append(Stop(step, disk.image(), moment()))
    return stops


def crashes(number: int, stop: Stop) -> Iterable[Crash]:
    """The crashes to check for the stop of that number."""
    pages = len(disk_images.dirty_pages(stop.image))
    turns = [*ALTERNATING, *(crash for n in range(pages) for crash in (disk_images.only(n), disk_images.all_but(n)))]
    if ALL:
        return (*ALWAYS, *turns)
    # After a step the pages that are dirty are nearly those before the next one.
    return (*ALWAYS, turns[number % len(turns)]) if stop.step.before else ALWAYS


def states(stops: list[Stop]) -> Iterator[tuple[Stop, Crash, dict[str, bytes | None]]]:
    """All different states of a stopped disk, with what must be true of each."""
    seen = set()
    for number, stop in enumerate(stops):
        for crash in crashes(number, stop):
            left = disk_images.after(stop.image, crash)
            state = frozenset(left.items()), stop.moment
            if state not in seen:
                seen.add(state)
                yield stop, crash, left


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory, where there is one: thousands of stores are made."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as directory:
        yield Path(directory)


@pytest.mark.slow
def test_wherever_the_machine_stops_acknowledged_messages_stay(memory: Path) -> None:
    (memory / "life").mkdir()
    life, stops = stops_of(memory / "life")
    afterwards = itertools.cycle((EVERYTHING, NOTHING, disk_images.EVEN))
    for case, (stop, crash, left) in enumerate(states(stops)):
        root = memory / str(case)
        root.mkdir()
        try:
            moment = stop.moment.of_a_kill() if crash is EVERYTHING else stop.moment
            reborn = Reborn(left, root / "first", life, moment)
            if ALL or case % 10 == 0:
                check_afterwards(reborn, root, next(afterwards))
            kill(reborn.store)
        except Exception as error:
            error.add_note(f"{stop.step}, {crash.name}")
            raise
        shutil.rmtree(root)


@pytest.mark.slow
def test_a_machine_may_stop_again_while_its_store_recovers(memory: Path) -> None:
    (memory / "life").mkdir()
    life, stops = stops_of(memory / "life")
    case = 0
    for number, stop in enumerate(stops[20 :: 40 if ALL else 300]):
        root = memory / f"first-{number}"
        root.mkdir()
        disk_images.put(disk_images.after(stop.image, disk_images.EVEN), root)
        disk = CrashDisk(root)
        again = watch(disk, partial(getattr, stop, "moment"))
        kill(open_store(life.settings_at(root), Clock(life.clock.now), disk))
        for second, crash, left in states(again):
            case += 1
            try:
                kill(Reborn(left, memory / str(case), life, stop.moment).store)
            except Exception as error:
                error.add_note(f"{stop.step}, then {second.step}, {crash.name}")
                raise
            shutil.rmtree(memory / str(case))


def refusals(root: Path) -> list[tuple[Step, int]]:
    """Each step of a life with each of the ways to refuse it."""
    life = Life(root)
    steps: dict[int, Step] = {}

    def note(step: Step) -> None:
        steps.setdefault(step.number, step)

    life.disk.observer = note
    life.play()
    chosen = []
    seen = set()
    for step in steps.values():
        for how, code in enumerate(REFUSALS[step.name]):
            if ALL or code not in HARMLESS or (step.name, step.way, code) not in seen:
                seen.add((step.name, step.way, code))
                chosen.append((step, how))
    return chosen


@pytest.mark.slow
def test_whatever_is_refused_nothing_that_was_taken_is_lost(memory: Path) -> None:
    (memory / "life").mkdir()
    for case, (step, how) in enumerate(refusals(memory / "life")):
        root = memory / str(case)
        (root / "life").mkdir(parents=True)
        life = Life(root / "life")
        life.disk.refuse_at, life.disk.refuse_how = step.number, how
        try:
            life.play()
            assert life.disk.refused == 1
            crash = (NOTHING, disk_images.EVEN)[case % 2]
            reborn = Reborn(disk_images.after(life.disk.image(), crash), root / "crashed", life, life.moment())
            kill(reborn.store)
            life.open()
            count = len(life.witness.records)
            assert check(life.opened, life.witness, life.witness.promise()) == count
            life.kill()
        except Exception as error:
            error.add_note(f"{step}, refused with {REFUSALS[step.name][how]}")
            raise
        shutil.rmtree(root)


def test_every_call_of_the_file_system_is_a_step_or_changes_nothing() -> None:
    calls = {name for name in vars(FileSystem) if not name.startswith("_")}
    made_of_others = {"replace", "exchange"}
    assert calls == (set(REFUSALS) - {"resize", "store"}) | made_of_others | NOT_STEPS
    assert calls - made_of_others - NOT_STEPS <= set(vars(CrashDisk))
