"""The fifth stage: stores what is due, and notes in the index what became of each message.

Both happen in one step, so that no other task runs in between. What the store refuses for now is tried again by
itself, a little later, while what it takes goes on.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Final

import trio

from rocketwire.server.messages.appending import Refusals
from rocketwire.server.messages.restoring import Undeliverable
from rocketwire.server.messages.storing import Storing
from rocketwire.server.timer.counts import Counts
from rocketwire.server.timer.faults import RETRY_SECONDS, Faults
from rocketwire.server.timer.groups import in_groups
from rocketwire.server.timer.records import Early, Stale
from rocketwire.server.timer.wheel.loaded import Copy
from rocketwire.server.timer.wheel.markers import Markers
from rocketwire.server.timer.wheel.wheel import NearWheel
from rocketwire.store.append.drafts import Appended
from rocketwire.store.errors import RecordTooLarge, TopicUnusable
from rocketwire.store.layout.timer_log import NO_COPY

log = logging.getLogger(__name__)

#: Of what was refused for now no more is kept beside what comes: so many messages, or bytes.
_MOST_REFUSED: Final = 1024
_MOST_BYTES: Final = 16 << 20
_FOR_EVER: Final = (RecordTooLarge, TopicUnusable)


class DequeuePut:
    """Stores copies and rolled records.

    Args:
        wheel: What they came out of.
        markers: What is cancelled although its marker is not in the index yet.
        storing: Stores messages.
        counts: Counts them.
        wake: Called when messages were stored.
        changed: Called when messages were settled.
    """

    def __init__(
        self,
        wheel: NearWheel,
        markers: Markers,
        *,
        storing: Storing,
        counts: Counts,
        wake: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self._wheel = wheel
        self._markers = markers
        self._storing = storing
        self._counts = counts
        self._wake = wake
        self._changed = changed
        #: What was refused for now; of it, what was to blame for that comes behind what was not.
        self._refused: list[Copy] = []
        self._retry_at = math.inf
        self._faults = Faults("timer messages are not delivered for now")
        self._preparing = Faults("timer messages wait to be delivered")

    async def run(self, groups: trio.MemoryReceiveChannel[list[Copy]]) -> None:
        """Store what comes, for ever."""
        while True:
            await self._store_in_groups(await self._next(groups))

    async def _next(self, groups: trio.MemoryReceiveChannel[list[Copy]]) -> list[Copy]:
        """What is to be stored next: what comes, behind all that was refused when it is time to try that again."""
        copies: list[Copy] = []
        with trio.move_on_at(self._retry_at):
            if len(self._refused) >= _MOST_REFUSED or sum(map(_size, self._refused)) >= _MOST_BYTES:
                await trio.sleep_forever()
            copies = await groups.receive()
        if trio.current_time() >= self._retry_at:
            copies = self._refused + copies
            self._refused, self._retry_at = [], math.inf
        return copies

    async def _store_in_groups(self, copies: list[Copy]) -> None:
        held_up: list[Copy] = []
        for number, group in enumerate(in_groups(copies, map(_size, copies))):
            if held_up:
                held_up += group
                continue
            if number:
                await trio.lowlevel.checkpoint()
            await self._prepare(group)
            held_up = self._store(group)  # no other task ran since all markers are known
        self._refused = held_up + self._refused
        if self._refused:
            self._retry_at = min(self._retry_at, trio.current_time() + RETRY_SECONDS)

    async def _prepare(self, copies: list[Copy]) -> None:
        """Get to know all markers, and open what is to be written of the index: once stored, all has to be noted."""
        ready = False
        while not ready:
            async with self._preparing.told():
                for _ in self._markers.look():
                    await trio.lowlevel.checkpoint()
                for copy in copies:
                    if not copy.slot.dropped:
                        self._wheel.index.log.mapping_of(copy.position)
                ready = True

    def _store(self, copies: list[Copy]) -> list[Copy]:
        """Store what is to be stored of a group; those that were refused though they are not to blame."""
        now = self._wheel.now()
        copies = [copy for copy in copies if not copy.slot.dropped]
        if any(copy.due > now or isinstance(copy.draft, Early) for copy in copies):  # the clock was set back
            self._wheel.drop()
            return []
        copies = [copy for copy in copies if not self._is_settled(copy)]
        unblamed = self._append(copies, now)
        self._wake()
        self._changed()
        return unblamed

    def _is_settled(self, copy: Copy) -> bool:
        """Settle a message that is not to be stored; false for any other."""
        draft = copy.draft
        if isinstance(draft, Undeliverable):
            self._drop(copy, draft)
            return True
        if copy.rolls or draft.unique_key is None:
            return False
        key = draft.unique_key
        if key not in copy.slot.cancelled and not self._markers.cancel(key, draft.properties):
            return False
        self._settle(copy, NO_COPY)
        self._counts.cancelled += 1
        return True

    def _append(self, copies: list[Copy], now: int) -> list[Copy]:
        """Store copies; what is to blame for a refusal is put aside, and the rest tried without it.

        Returns:
            Those that were refused though they are not to blame: when it hits the next ones, too, it hits all.
        """
        last: int | None = None
        while copies:
            drafts = [copy.draft for copy in copies if not isinstance(copy.draft, Undeliverable)]
            appended, refusals = self._storing.append(drafts)
            refused = next((n for n in sorted(refusals) if not isinstance(refusals[n], _FOR_EVER)), len(copies))
            self._note_stored(copies[:refused], appended, refusals, now)
            if refused == len(copies):
                self._faults.over()
                return []
            self._faults.note(refusals[refused])
            self._refused.append(copies[refused])
            copies = copies[refused + 1 :]
            if refused == 0 and last == 0:
                return copies
            last = refused
        return []

    def _note_stored(self, copies: list[Copy], appended: Sequence[Appended], refusals: Refusals, now: int) -> None:
        """Note what became of copies that were stored, or never will be."""
        counts = self._counts
        stored = list(zip(copies, appended, strict=False))
        if refusals:
            for number in refusals:
                if number < len(copies):
                    self._drop(copies[number], refusals[number])
            stored = [each for number, each in enumerate(stored) if number not in refusals]
        if not stored:
            return
        self._wheel.index.settle_all([(copy.position, place.physical_offset) for copy, place in stored])
        self._wheel.settled([copy for copy, _ in stored])
        rolled = sum(1 for copy, _ in stored if copy.rolls)
        counts.rolled += rolled
        counts.delivered += len(stored) - rolled
        counts.lateness = now - min(copy.due for copy, _ in stored)

    def _settle(self, copy: Copy, outcome: int) -> None:
        self._wheel.index.settle(copy.position, outcome)
        self._wheel.settled([copy])

    def _drop(self, copy: Copy, error: Exception) -> None:
        """Pass over a message that can never be stored."""
        if isinstance(error, Stale):
            self._counts.stale += 1
        else:
            self._counts.dropped += 1
            log.error("timer: the message due at %d is not delivered: %s", copy.due, error)
        self._settle(copy, NO_COPY)


def _size(copy: Copy) -> int:
    draft = copy.draft
    return 0 if isinstance(draft, Undeliverable) else len(draft.body) + len(draft.properties)
