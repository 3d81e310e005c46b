"""Backlog control: refuses sends to topics whose consumer groups are too far behind.

A group's backlog is the number of messages in a topic's queues that it has not committed, less those that were removed;
queues without a committed offset do not count. Nor do unknown groups: a client may commit offsets for any name, but a
group has had members, or was created by an administrator.

Clients may commit many offsets, so they are checked a few at a time with pauses: however many there are, that takes a
small part of a processor's time.
"""

from __future__ import annotations

from typing import Final

import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.offsets import OffsetTable

_INTERVAL: Final = 0.5
"""Seconds between two rounds."""
_MOST_AT_ONCE: Final = 500  # queues, and groups in topics: well below a millisecond
_PAUSE: Final = 0.002


class GroupBacklogs:
    """Measures the groups' backlogs, and sets the topics that the throttle refuses."""

    def __init__(
        self,
        keys: LiveGroup[ThrottleKeys],
        offsets: OffsetTable,
        groups: GroupTable,
        store: StoreProtocol,
        throttle: Throttle,
    ) -> None:
        self._keys = keys
        self._offsets = offsets
        self._groups = groups
        self._store = store
        self._throttle = throttle
        self._looked = 0

    async def run(self) -> None:
        """Check at intervals; never returns."""
        while True:
            await self._look()
            await trio.sleep(_INTERVAL)

    async def _look(self) -> None:
        most = self._keys.current.group_backlog_threshold
        far: set[str] = set()
        self._looked = 0
        for key in self._offsets.keys() if most else ():
            await self._pause()
            topic, group, committed = self._offsets.at(key)
            known = topic not in far and self._groups.get(group) is not None
            if known and await self._behind(topic, committed) > most:
                far.add(topic)
        self._throttle.backlogged(far)

    async def _behind(self, topic: str, committed: dict[int, int]) -> int:
        store = self._store
        behind = 0
        for queue_id in list(committed):  # it may change while other tasks run
            await self._pause()
            offset = committed.get(queue_id)
            if offset is not None:
                behind += max(0, store.max_offset(topic, queue_id) - max(offset, store.min_offset(topic, queue_id)))
        return behind

    async def _pause(self) -> None:
        self._looked += 1
        if self._looked % _MOST_AT_ONCE == 0:
            await trio.sleep(_PAUSE)
