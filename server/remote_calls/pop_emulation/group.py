"""A group's queues at one broker, as far as this proxy reads them.

The proxies that have clients of the group are members of it, each by a separate client id; in the order of these ids
they share the queues of a topic, and the broker's locks make sure that no two read the same one. A queue that is to
move to another proxy is delivered no more, and is unlocked once its clients are done with what they have.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from itertools import count
from typing import Final, NamedTuple
from weakref import WeakSet

import trio

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.remote_calls.pop_emulation.group_rpc import GroupRpc, SubscriptionFilter
from rocketwire.server.remote_calls.pop_emulation.queue import PulledMessage, PulledQueue
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.wire.errors import WireError
from rocketwire.wire.headers.pop import PopMessageRequestHeader
from rocketwire.wire.names import retry_topic

log = logging.getLogger(__name__)

CLIENT_PREFIX: Final = "rocketwire-proxy@"
_ROUND_SECONDS: Final = 10.0
"""After so long memberships and locks are renewed; queues are handed over within that."""
_LOCK_SECONDS: Final = 50.0
"""A lock that was not renewed for so long is taken as lost: brokers keep them for 60 s."""
_COMMIT_SECONDS: Final = 1.0
_AGAIN_SECONDS: Final = 1.0
_UNUSED_SECONDS: Final = 60.0
_READ_AHEAD_SECONDS: Final = 20.0
"""For so long after a receive its topic is read on."""
_NOT_COMMITTED: Final = -1
_EVERYTHING: Final = SubscriptionFilter("*", "TAG")

QueueKey = tuple[str, int]


class QueueMessages(NamedTuple):
    """Messages of one queue that a receive gets."""

    queue: PulledQueue
    messages: list[PulledMessage]


class _Reset(NamedTuple):
    """A reset of a topic's offsets, and the clients that the broker has sent it to."""

    body: bytes
    clients: WeakSet[object]


class _Topic:
    """A topic that clients receive from."""

    def __init__(self, wanted: SubscriptionFilter) -> None:
        self.wanted = wanted
        self.received_at = 0.0


class GroupAtBroker:
    """The group.

    Args:
        group: Its name.
        rpc: Sends requests to the broker.
        client_id: The proxy's.
        clock: The time of handles.
        queues_of: Gives how many readable queues the broker has of a topic; 0: it has no such topic.

    Attributes:
        queues: Those whose locks are held.
        changed: Set, and replaced, when messages may be had that could not before.
        failure: Why the last request to the broker failed, if it did.
    """

    def __init__(
        self,
        group: str,
        rpc: GroupRpc,
        *,
        client_id: str,
        clock: Clock,
        queues_of: Callable[[str], int],
    ) -> None:
        self.queues: dict[QueueKey, PulledQueue] = {}
        self.changed = trio.Event()
        self.failure: UpstreamConnectionError | None = None
        self._group = group
        self._retry = retry_topic(group)
        self._rpc = rpc
        self._client_id = client_id
        self._clock = clock
        self._queues_of = queues_of
        self._topics: dict[str, _Topic] = {}
        self._resets: dict[str, _Reset] = {}
        self._locked_until: dict[QueueKey, float] = {}
        self._wakes = trio.Event()
        self._used_at = trio.current_time()
        self._turns = count()
        self._commits = False
        self._nursery: trio.Nursery | None = None

    # --- receiving

    def note_receive(self, header: PopMessageRequestHeader) -> None:
        """Note that a client receives from a topic."""
        wanted = SubscriptionFilter(header.exp or "*", header.exp_type or "TAG")
        topic = self._topics.get(header.topic)
        if topic is None or topic.wanted != wanted:
            self._topics[header.topic] = topic = _Topic(wanted)
            self._wakes.set()
        now = trio.current_time()
        read = now - topic.received_at < _READ_AHEAD_SECONDS
        topic.received_at = self._used_at = now
        if not read:
            self.wake()

    def take(self, header: PopMessageRequestHeader) -> list[QueueMessages]:
        """Deliver messages."""
        topic, now, room = header.topic, self._clock(), header.max_msg_nums
        mine = [each for key, each in self.queues.items() if key[0] in {topic, self._retry} and self._safe(key)]
        first = next(self._turns) % len(mine) if mine else 0
        found: list[QueueMessages] = []
        for queue in (*mine[first:], *mine[:first]):
            if header.order and queue.topic == topic:
                taken = queue.take_in_order(topic, room, now, header.attempt_id)
            else:
                taken = queue.take(topic, room, now)
            if taken:
                queue.deliver(taken, now, header.invisible_time)
                found.append(QueueMessages(queue, taken))
                room -= len(taken)
            if not room:
                break
        if found:
            self.wake()  # there may be room for more
        return found

    def reset(self, client: object, topic: str, body: bytes, offsets: Mapping[int, int]) -> None:
        """Continue at other offsets in the queues of a topic, by queue id; what is in flight of them is dropped.

        The broker sends a reset to each member: only the first of them counts.

        Args:
            client: The client that the broker sent it to.
            topic: The topic.
            body: The body that the broker sent.
            offsets: The offset of each queue.
        """
        clients = self._resets.get(topic)
        if clients is not None and clients.body == body and client not in clients.clients:
            clients.clients.add(client)
            return
        self._resets[topic] = _Reset(body, WeakSet((client,)))
        for queue_id, offset in offsets.items():
            key = topic, queue_id
            if key in self.queues and self._nursery is not None:
                queue = self.queues[key] = PulledQueue(topic, queue_id, offset)
                queue.process.committed = _NOT_COMMITTED
                self._nursery.start_soon(self._read, key, queue)
        self.commit_soon()

    def _safe(self, key: QueueKey) -> bool:
        return trio.current_time() < self._locked_until.get(key, 0)

    def next_due(self) -> int | None:
        """When a message is redelivered, in ms since 1970; None: nothing is in flight."""
        return min((due for each in self.queues.values() if (due := each.next_due()) is not None), default=None)

    def wake(self) -> None:
        """Wake receives that wait for messages, and reads that wait for room."""
        changed, self.changed = self.changed, trio.Event()
        changed.set()

    def commit_soon(self) -> None:
        """Note that messages have come to an end: the offsets are committed soon."""
        self.wake()
        if not self._commits and self._nursery is not None:
            self._commits = True
            self._nursery.start_soon(self._commit_soon)

    async def _commit_soon(self) -> None:
        await trio.sleep(_COMMIT_SECONDS)
        self._commits = False
        await self._commit(self._rpc, self.queues)

    async def _commit(self, rpc: GroupRpc, queues: Mapping[QueueKey, PulledQueue]) -> None:
        for queue in list(queues.values()):
            offset = queue.process.offset
            if offset == queue.process.committed:
                continue
            try:
                await rpc.commit(queue.topic, queue.queue_id, offset)
                queue.process.committed = offset
            except UpstreamConnectionError as error:
                log.debug("no offset of %(topic)s: %(reason)s", {"topic": queue.topic, "reason": error})

    # --- membership and locks

    async def run(self) -> None:
        """Read the queues until no client has received for a while; must not be called twice at a time."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            while self.queues or trio.current_time() - self._used_at < _UNUSED_SECONDS:
                self._wakes = trio.Event()
                try:
                    await self._round(nursery)
                    seconds, self.failure = _ROUND_SECONDS, None
                except UpstreamConnectionError as error:
                    self.failure = error
                    self.wake()
                    log.debug("group %(group)s: %(reason)s", {"group": self._group, "reason": error})
                    seconds = _AGAIN_SECONDS
                self._drop_lost()
                with trio.move_on_after(seconds):
                    await self._wakes.wait()
            self._nursery = None
            nursery.cancel_scope.cancel()

    async def _round(self, nursery: trio.Nursery) -> None:
        rpc, now = self._rpc, trio.current_time()
        self._topics = {name: each for name, each in self._topics.items() if now - each.received_at < _UNUSED_SECONDS}
        used = bool(self._topics)
        mine: set[QueueKey] = set()
        if used:
            await rpc.send_heartbeat([(name, each.wanted) for name, each in self._topics.items()], self._clock())
            mine = self._share(sorted(each for each in await rpc.members() if each.startswith(CLIENT_PREFIX)))
        for key, queue in self.queues.items():
            queue.leaves = key not in mine
        await self._release()
        wanted = mine | set(self.queues)
        locked = wanted & await rpc.lock(sorted(wanted)) if wanted else set()
        for key in locked:
            self._locked_until[key] = now + _LOCK_SECONDS
        for key in [key for key in self.queues if key not in locked]:
            self._forget(key)
        for key in sorted(locked - set(self.queues)):
            topic, number = key
            try:
                begin = await rpc.first_offset(topic, number, retried=topic == self._retry)
            except UpstreamConnectionError as error:  # the queue does not exist
                log.debug("no offset of %(topic)s: %(reason)s", {"topic": topic, "reason": error})
                continue
            queue = self.queues[key] = PulledQueue(topic, number, begin)
            nursery.start_soon(self._read, key, queue)
        if not used and not self.queues:
            await rpc.leave()
        self.wake()

    def _share(self, proxies: list[str]) -> set[QueueKey]:
        """The queues that are this proxy's."""
        if self._client_id not in proxies:
            return set()
        place, proxy_count = proxies.index(self._client_id), len(proxies)
        names = (*self._topics, self._retry)
        return {
            (name, number) for name in names for number in range(self._queues_of(name)) if number % proxy_count == place
        }

    async def _release(self) -> None:
        """Unlock the queues that others are to have, and whose clients are done."""
        now = self._clock()
        done = {key: each for key, each in self.queues.items() if each.leaves and not each.in_flight(now)}
        if not done:
            return
        await self._commit(self._rpc, done)
        for key in done:
            self._forget(key)
        await self._rpc.unlock(sorted(done))

    def _forget(self, key: QueueKey) -> None:
        self.queues.pop(key, None)
        self._locked_until.pop(key, None)
        self.wake()

    def _drop_lost(self) -> None:
        for key in [key for key in self.queues if not self._safe(key)]:
            self._forget(key)

    async def leave(self, rpc: GroupRpc) -> None:
        """Commit and unlock all, when the proxy stops."""
        try:
            await self._commit(rpc, self.queues)
            if self.queues:
                await rpc.unlock(sorted(self.queues))
            await rpc.leave()
        except UpstreamConnectionError as error:
            log.debug("group %(group)s: %(reason)s", {"group": self._group, "reason": error})

    # --- reading

    async def _read(self, key: QueueKey, queue: PulledQueue) -> None:
        """Pull a queue as long as its lock is held."""
        retried = queue.topic == self._retry
        while self.queues.get(key) is queue:
            changed = self.changed
            if not queue.has_room or not self._is_wanted(queue, retried=retried):
                await changed.wait()
                continue
            topic = self._topics.get(queue.topic)
            wanted = _EVERYTHING if retried or topic is None else topic.wanted
            try:
                body, next_offset = await self._rpc.pull(queue.topic, queue.queue_id, queue.process.next_offset, wanted)
                before = queue.process.offset
                queue.add(body, next_offset, retried=retried)
            except (UpstreamConnectionError, WireError) as error:
                log.debug("no messages of %(topic)s: %(reason)s", {"topic": queue.topic, "reason": error})
                await trio.sleep(_AGAIN_SECONDS)
                continue
            if body:
                self.wake()
            if queue.process.offset != before:  # what the filter refuses is done with
                self.commit_soon()

    def _is_wanted(self, queue: PulledQueue, *, retried: bool) -> bool:
        now = trio.current_time()
        topics = [each for name, each in self._topics.items() if retried or name == queue.topic]
        return any(now - each.received_at < _READ_AHEAD_SECONDS for each in topics)
