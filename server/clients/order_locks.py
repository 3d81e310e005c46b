"""Queue locks of orderly consumers: which client may consume a queue.

A lock belongs to one client id of one group and lasts 60 s after its last renewal; clients renew every 20 s. It does
not end with the client's connection: a client that lost it may still be working, and reconnects with the same id.

All locks last equally long, so each group's, with the newest last, are in the order of their expiry.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Generator, Iterable
from typing import Final, NamedTuple

import trio

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import in_batches
from rocketwire.wire.bodies.client import MessageQueue

LOCK_SECONDS: Final = 60.0
MOST_LOCKS: Final = 200_000
MOST_BYTES: Final = 4 << 20
"""The most bytes of a body that names queues: some 40,000 of them. Access control parses it, too, in one step."""
_SCAN_SECONDS: Final = 10.0
_AT_ONCE: Final = 256
"""The most locks of a group that expire before other tasks run."""


def check_size(body: memoryview) -> None:
    """Raise LimitExceeded when a body that names queues is too long."""
    if len(body) > MOST_BYTES:
        raise LimitExceeded("lockBytes", MOST_BYTES)


class _Lock(NamedTuple):
    client_id: str
    until: float


class OrderLocks:
    """The locks of all groups."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[MessageQueue, _Lock]] = {}
        self._count = 0

    def check_room(self, group: str, queues: Collection[MessageQueue]) -> None:
        """Check that a group may have locks of these queues, which are all different.

        Raises:
            LimitExceeded: there would be too many locks, of all groups.
        """
        if self._count + len(queues) > MOST_LOCKS:
            locks = self._groups.get(group, {})
            if self._count + sum(queue not in locks for queue in queues) > MOST_LOCKS:
                raise LimitExceeded("orderLocks", MOST_LOCKS)

    def lock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> list[MessageQueue]:
        """Acquire or renew locks; return the queues this client holds now, each once.

        Raises:
            LimitExceeded: there would be too many locks, of all groups; none is acquired.
        """
        queues = dict.fromkeys(queues)
        self.check_room(group, queues)
        locks = self._groups.get(group, {})
        now = trio.current_time()
        self._groups[group] = locks
        before = len(locks)
        held = []
        for queue in queues:
            lock = locks.get(queue)
            if lock is None or lock.client_id == client_id or lock.until < now:
                locks.pop(queue, None)
                locks[queue] = _Lock(client_id, now + LOCK_SECONDS)
                held.append(queue)
        self._count += len(locks) - before
        if not locks:
            del self._groups[group]
        return held

    def unlock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> None:
        """Release the locks that this client holds; others' locks stay."""
        locks = self._groups.get(group, {})
        for queue in queues:
            lock = locks.get(queue)
            if lock is not None and lock.client_id == client_id:
                del locks[queue]
                self._count -= 1
        if not locks:
            self._groups.pop(group, None)

    def expire(self) -> None:
        """Remove expired locks."""
        for _ in self._expiring():
            pass

    def _expiring(self) -> Generator[None, None, None]:
        for groups in in_batches(list(self._groups)):
            for group in groups:
                while self._expire_some(group) == _AT_ONCE:
                    yield
            yield

    def _expire_some(self, group: str) -> int:
        """Remove some expired locks of a group, the oldest first; return how many."""
        now = trio.current_time()
        locks = self._groups.get(group, {})
        over = itertools.takewhile(lambda each: each[1].until < now, locks.items())
        queues = [queue for queue, _ in itertools.islice(over, _AT_ONCE)]
        for queue in queues:
            del locks[queue]
        self._count -= len(queues)
        if not locks:
            self._groups.pop(group, None)
        return len(queues)

    async def run(self, budget: BackgroundBudget) -> None:
        """Remove expired locks as background work; never returns."""
        while True:
            await trio.sleep(_SCAN_SECONDS)
            await budget.carry_out(self._expiring())
