"""A store with timer messages, and the timer that delivers them, without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import trio
import trio.testing

from rocketwire.server.core.errors import ServiceUnavailable
from rocketwire.server.messages.message_writer import NOT_STORED, Refusals
from rocketwire.server.messages.real_queue import with_real_queue
from rocketwire.server.timer.timer import Timer
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.event import Event
from rocketwire.store.timer.units import out_time
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.names import TIMER_TOPIC
from tests.server.harness import Clock, properties_text, run_inline
from tests.server.store_room import StoreRoom

HOST = encode_host("10.0.0.1", 5)


def timer_draft(body: bytes, due: int, *, key: str, topic: str = "T", **more: str) -> Draft:
    """A waiting message that is due at a time in ms."""
    text = properties_text(UNIQ_KEY=key, TIMER_DELIVER_MS=str(due), **more, TIMER_OUT_MS=str(out_time(due)))
    return Draft(TIMER_TOPIC, 0, body, with_real_queue(text.encode(), topic, 0), 0, 0, due - 1, HOST, unique_key=key)


class Timers(StoreRoom):
    """An open store, and its timer, which runs within `running`."""

    def __init__(
        self, folder: Path, *, clock: Clock | None = None, files: FileSystem | None = None, **settings: Any
    ) -> None:
        self.files = files or FileSystem()
        sizes: dict[str, Any] = {
            "commit_log_file_size": 1 << 20,
            "consume_queue_file_size": 20 * 256,
            "timer_log_file_size": 52 * 512 + 20,
        }
        self.open_store(folder, clock or Clock(), files, **(sizes | settings))
        self.moved = Event[[]]()
        self.timer = Timer(
            store=self.store,
            files=self.files,
            storing=self.storing,
            clock=self.clock,
            wake=self._wake,
            run_sync=run_inline,
            topics={"T": None, "U": None},
            moved=self.moved,
            budget=self.loop.budget,
        )
        self.store.arrivals.subscribe(self.timer.arrived)

    def start(self, nursery: trio.Nursery) -> None:
        """Start the timer."""
        nursery.start_soon(self.timer.run)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the timer."""
        async with trio.open_nursery() as nursery:
            self.start(nursery)
            await trio.testing.wait_all_tasks_blocked()
            yield
            nursery.cancel_scope.cancel()

    @classmethod
    @asynccontextmanager
    async def started(cls, folder: Path, **options: Any) -> AsyncIterator[Self]:
        """Open a store, run its timer, and stop both as a broker does."""
        made = cls(folder, **options)
        async with made.running():
            yield made
        made.stop()

    def send(self, *drafts: Draft) -> None:
        """Store timer messages."""
        assert len(self.store.append(drafts)) == len(drafts), self.store.append_error

    def send_in(self, body: bytes, delay: int, **more: Any) -> None:
        """Store a message to be delivered so many ms from now."""
        key = more.pop("key", body[:20].decode())
        self.send(timer_draft(body, self.clock.now + delay, key=key, **more))

    def cancel_in(self, key: str, delay: int) -> None:
        """Store a marker that cancels a message that is due so many ms from now."""
        self.send_in(b"marker of " + key.encode(), delay, key=f"D{key}", TIMER_DEL_UNIQKEY=key)

    async def pass_time(self, ms: int) -> None:
        """Advance both clocks, and wait until the timer rests, before and after."""
        await trio.testing.wait_all_tasks_blocked()
        await self.jump(ms)

    async def jump(self, ms: int) -> None:
        """Advance both clocks before any task runs, and wait until the timer rests."""
        self.clock.now += ms
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, trio.testing.MockClock)
        clock.jump(max(0.5, ms / 1000))
        await trio.testing.wait_all_tasks_blocked()

    def stop(self) -> None:
        """Stop as a broker does."""
        self.timer.close()
        self.store.close()


class Refusing:
    """Refuses drafts with certain bodies for now, and all behind them in the group, as the store does."""

    def __init__(self, timers: Timers, *bodies: bytes) -> None:
        self.bodies = set(bodies)
        self.groups: list[list[bytes]] = []
        self._append = timers.storing.append
        timers.storing.append = self.append  # type: ignore[method-assign]  # stands before it

    def append(self, drafts: Sequence[Draft]) -> tuple[list[AppendResult], Refusals]:
        bodies = [bytes(draft.body) for draft in drafts]
        self.groups.append(bodies)
        bad = next((number for number, body in enumerate(bodies) if body in self.bodies), len(bodies))
        appended, _ = self._append(drafts[:bad])
        left = range(bad, len(bodies))
        return [*appended, *(NOT_STORED for _ in left)], dict.fromkeys(left, ServiceUnavailable("not now"))
