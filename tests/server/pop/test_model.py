"""POP over stops of every kind, against a list of which client has which message until when.

The steps: sends, pops by two groups, acknowledgements, changes of the time, messages returned, time that passes or
jumps; stops that are clean, and kills, which lose the offsets that were not saved: at rest, at any write, and in a
request, whose answer is lost then. No message is lost, none is delivered while it is invisible or after it was
acknowledged, and unacknowledged ones are redelivered when their time is over, no later than 100 ms after.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from rocketwire.server.core.request import Reply
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.store.disk.files import FileSystem
from tests.server.harness import Clock
from tests.server.pop.requests import Got
from tests.server.pop.rooms import SAVE_MS, PopTimers
from tests.server.timer.lives import Killed, LifeOf

GROUPS = st.sampled_from(["G", "G", "H"])
TIMES = st.sampled_from([50, 500, 999, 1000, 1500, 3000, 10_000, 60_000])
FUSES = st.sampled_from([None] * 6 + [0, 1, 2, 3])
"""The number of writes of a request after which a kill comes."""
MOST_LATE = 100


@dataclass
class State:
    """A message, as a group has it."""

    got: Got | None = None
    """The latest delivery, with the newest handle."""
    acked: bool = False
    open: bool = False
    """A kill came while it may have been popped, acknowledged or changed: both states are right."""
    tries: list[int] = field(default_factory=list)


class PopModel(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        shared = Path("/dev/shm")
        self.work = Path(tempfile.mkdtemp(prefix="rocketwire-pop-", dir=shared if shared.is_dir() else None))
        self.clock = Clock()
        self.latest = self.clock.now
        self.sent: list[bytes] = []
        self.states: dict[tuple[str, bytes], State] = {}
        self.begin()

    def begin(self, fuse: int | None = None) -> None:
        self.life = LifeOf(
            PopTimers, self.work, self.clock, files=FileSystem(), fuse=fuse, commit_log_file_size=1 << 20
        )
        if not self.life.alive:
            self.life.kill()
            self.begin()
        self.life.fuse = None
        self.life.rest()

    @property
    def room(self) -> PopTimers:
        return self.life.timers

    def state(self, group: str, body: bytes) -> State:
        return self.states.setdefault((group, body), State())

    # --- requests ---

    def answered(self, request: Callable[[], object], fuse: int | None, *keys: tuple[str, bytes]) -> bool:
        """Whether a request is answered before a kill; if not, it may have changed these messages."""
        with contextlib.suppress(Killed):
            assert self.life.do(lambda: self.succeed(request, fuse))
            self.life.rest()
            return True
        assert fuse is not None
        self.life.kill()
        self.begin()
        for key in keys:
            self.states[key].open = True
        return False

    def succeed(self, request: Callable[[], object], fuse: int | None) -> None:
        self.life.fuse = fuse
        answer = request()
        self.life.fuse = None  # after a kill the fuse stays: nothing is written any more
        assert not isinstance(answer, Reply) or answer.code == 0

    @rule(count=st.integers(1, 8), queue_id=st.integers(0, 1))
    def send(self, count: int, queue_id: int) -> None:
        for _ in range(count):
            body = b"m%d" % len(self.sent)
            if self.life.do(lambda: self.put(body, queue_id)):  # noqa: B023 - called at once
                self.sent.append(body)

    def put(self, body: bytes, queue_id: int) -> None:
        assert self.room.put(body, queue_id)

    @rule(group=GROUPS, most=st.integers(1, 32), invisible_time=TIMES, fuse=FUSES)
    def pop(self, group: str, most: int, invisible_time: int, fuse: int | None) -> None:
        found: list[Got] = []
        due = [key for key, state in self.states.items() if key[0] == group and self.may_be_delivered(state)]
        if self.answered(lambda: found.extend(self.room.pop(group, most, invisible_time)), fuse, *due):
            for got in found:
                self.note(group, got)

    def may_be_delivered(self, state: State) -> bool:
        return state.got is not None and not state.acked and state.got.handle.due <= self.latest

    def note(self, group: str, got: Got) -> None:
        state = self.state(group, got.body)
        assert not state.acked, f"{got} was acknowledged"
        if state.got is not None and not state.open:
            assert state.got.handle.due <= self.latest, f"{got} is out as {state.got}"
        state.got, state.open = got, False
        state.tries.append(got.message.reconsume_times)

    def invisible(self) -> list[tuple[str, bytes]]:
        """Messages that groups hold and may acknowledge in time, also by a clock that was not set back."""
        now = self.latest
        return [
            key
            for key, state in self.states.items()
            if state.got is not None and not state.acked and not state.open and state.got.handle.due > now
        ]

    @precondition(lambda self: self.invisible())
    @rule(data=st.data(), fuse=FUSES)
    def ack(self, data: st.DataObject, fuse: int | None) -> None:
        key = data.draw(st.sampled_from(self.invisible()))
        got = self.states[key].got
        assert got is not None
        if self.answered(lambda: self.room.ack(got), fuse, key):
            self.states[key].acked = True

    @precondition(lambda self: self.invisible())
    @rule(data=st.data(), fuse=FUSES)
    def ack_all(self, data: st.DataObject, fuse: int | None) -> None:
        """Acknowledge all or some messages of a check point."""
        group, body = data.draw(st.sampled_from(self.invisible()))
        first = self.states[group, body].got
        assert first is not None
        same = [
            key
            for key in self.invisible()
            if (got := self.states[key].got) is not None
            and (got.group, got.topic, got.handle[:7]) == (first.group, first.topic, first.handle[:7])
        ]
        chosen = data.draw(st.lists(st.sampled_from(same), min_size=1, unique=True))
        messages = [got for key in chosen if (got := self.states[key].got) is not None]
        if self.answered(lambda: self.room.ack_all(*messages), fuse, *chosen):
            for key in chosen:
                self.states[key].acked = True

    @precondition(lambda self: self.invisible())
    @rule(data=st.data(), invisible_time=TIMES | st.just(0), suspend=st.booleans(), fuse=FUSES)
    def change(self, data: st.DataObject, invisible_time: int, suspend: bool, fuse: int | None) -> None:
        key = data.draw(st.sampled_from(self.invisible()))
        got = self.states[key].got
        assert got is not None
        changed: list[Got] = []
        if self.answered(lambda: changed.append(self.room.change(got, invisible_time, suspend=suspend)), fuse, key):
            (self.states[key].got,) = changed

    @precondition(lambda self: self.invisible())
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        keys = data.draw(st.lists(st.sampled_from(self.invisible()), min_size=1, max_size=3, unique=True))
        given = [got for key in keys if (got := self.states[key].got) is not None]
        messages = [(PopQueue(got.topic, got.group, got.handle.queue_id), got.handle) for got in given]
        assert self.life.do(lambda: self.room.pops.services.acks.give_back(messages))
        for key, got in zip(keys, given, strict=True):
            now = max(self.clock.now, got.handle.pop_time + 1)
            handle = got.handle._replace(start_offset=got.handle.offset, pop_time=now, invisible_time=0)
            self.states[key].got = got._replace(handle=handle)
        self.life.rest()

    # --- time ---

    @rule(ms=st.sampled_from([1, 49, 500, 900, 1000, 2500, 10_000, 70_000]))
    def pass_time(self, ms: int) -> None:
        self.turn(ms)
        self.on_time()

    @rule(ms=st.sampled_from([-3000, -100, 3_600_000]))
    def set_clock(self, ms: int) -> None:
        self.turn(ms)

    def turn(self, ms: int) -> None:
        """Advance the clock, after saving the offsets as in that time."""
        if self.life.alive and ms >= SAVE_MS:
            self.life.do(self.room.offsets.persist)
        self.life.pass_time(ms)
        self.life.do(self.room.save_if_due)
        self.latest = max(self.latest, self.clock.now)

    def on_time(self) -> None:
        """Messages overdue by 100 ms can be popped."""
        late = {
            key
            for key, state in self.states.items()
            if state.got is not None
            and not (state.acked or state.open)
            and state.got.handle.due + MOST_LATE < self.clock.now
        }
        if late:
            self.turn(5)  # the timer must have passed their time
            assert late <= self.poppable()

    def poppable(self) -> set[tuple[str, bytes]]:
        """The messages that groups receive from their retry topics."""
        room = self.room
        found: set[tuple[str, bytes]] = set()
        for group in ("G", "H"):
            topic = f"%RETRY%{group}_T"
            offset = room.offsets.query(group, topic, 0) or 0
            found |= {(group, body) for body in room.delivered(topic)[offset:]}
        return found

    # --- stops ---

    @rule(ms=st.sampled_from([0, 0, 5000, 100_000]))
    def stop(self, ms: int) -> None:
        self.life.stop()
        self.away(ms)

    @rule(ms=st.sampled_from([0, 0, 5000, 100_000]))
    def kill(self, ms: int) -> None:
        self.life.kill()
        self.away(ms)

    @rule(ms=st.sampled_from([0, 1000, 10_000]), fuse=st.integers(0, 30), again=st.none() | st.integers(0, 20))
    def kill_at_work(self, ms: int, fuse: int, again: int | None) -> None:
        """A kill in the middle of writes, and maybe another one in the recovery."""
        self.life.fuse = fuse
        self.turn(ms)
        self.life.kill()
        self.begin(again)

    def away(self, ms: int) -> None:
        self.clock.now += ms
        self.latest = max(self.latest, self.clock.now)
        self.begin()

    def pop_more(self, group: str, found: list[Got]) -> bool:
        """Pop the remaining messages of a group."""
        before = len(found)
        self.life.do(lambda: found.extend(self.room.pop(group, 32, 60_000)))
        return len(found) > before

    def teardown(self) -> None:
        if not hasattr(self, "life"):
            return
        for _ in range(4):
            for _ in range(8):
                self.turn(10_000)
            for group in ("G", "H"):
                found: list[Got] = []
                while self.pop_more(group, found):
                    pass
                for got in found:
                    self.note(group, got)
        for group in ("G", "H"):
            for body in self.sent:
                state = self.state(group, body)
                assert state.got is not None, f"{body!r} is lost to {group}"
                assert state.acked or state.open or len(state.tries) > 1
        counts = self.room.pops.reviver.counts if self.room.pops.reviver is not None else None
        assert counts is not None
        assert (counts.unreadable, counts.lost) == (0, 0)
        self.life.stop()
        shutil.rmtree(self.work)


TestPopModel = PopModel.TestCase
TestPopModel.settings = hypothesis_settings(deadline=None, max_examples=20, stateful_step_count=20)
