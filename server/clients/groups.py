"""Connected producers and consumers by group, from their heartbeats.

A group's members are its connections. A member that sends no heartbeat for 120 s, unregisters or disconnects is
removed; after each change of a consumer group's members or subscriptions all members receive
NOTIFY_CONSUMER_IDS_CHANGED, so that they rebalance at once.

A heartbeat equal to the connection's last one changes nothing while its members are the same and no other request
changed their groups: `standing` is a snapshot after a heartbeat, `refresh` accepts the next one if it is still current.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import trio

from rocketwire.server.clients.members import ConsumerGroup, GroupMember
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.waiting import ExpiryRounds
from rocketwire.server.core.long_tasks import STEP_SECONDS, in_batches
from rocketwire.server.core.request import Peer
from rocketwire.store.event import Event
from rocketwire.wire.bodies.client import ConsumerData
from rocketwire.wire.facts.codes import RequestCode

log = logging.getLogger(__name__)

CLIENT_EXPIRY_SECONDS: Final = 120.0
_SCAN_SECONDS: Final = 10.0
_MOST_AT_ONCE: Final = 64
"""The most members notified or removed at once in `_WINDOW_SECONDS`; a task does the rest in parts."""
_WINDOW_SECONDS: Final = 0.01
_MOST_COMPARED_AT_ONCE: Final = 256
"""The most members and subscriptions that are compared at once if they differ, which takes 2 ms."""


class MembershipSnapshot(NamedTuple):
    """A snapshot of a connection's members after a heartbeat, with their groups' change counters or their holders."""

    consumers: tuple[tuple[ConsumerGroup, GroupMember, int], ...]
    producers: tuple[tuple[dict[Peer, GroupMember], GroupMember, dict[Peer, int]], ...]


@dataclass(slots=True)
class _Joined:
    """The groups of one connection, and what is cached of its last heartbeat."""

    consumers: dict[str, None] = field(default_factory=dict)
    producers: dict[str, None] = field(default_factory=dict)
    heard: object = None


class ClientGroups:
    """Producer and consumer groups of one broker.

    `notifies(group)` decides whether members of a group are notified of changes (`notifyConsumerIdsChangedEnable`).

    Attributes:
        emptied: Called with the name of a consumer group whose last member has left.
        resubscribed: Called when a consumer group comes, goes, or changes its subscriptions.
    """

    def __init__(self, notifies: Callable[[str], bool]) -> None:
        self._notifies = notifies
        self._consumers: dict[str, ConsumerGroup] = {}
        self._producers: dict[str, dict[Peer, GroupMember]] = {}
        # By client id, the newest heartbeat last: the connections, and the number of groups in which each has that id.
        self._producer_peers: dict[str, dict[Peer, int]] = {}
        self._joined: dict[Peer, _Joined] = {}
        self._rounds = ExpiryRounds()
        self._window, self._at_once = -math.inf, 0
        self._unnotified: dict[str, None] = {}  # groups whose members are to be notified
        self._uncompared: dict[str, None] = {}  # groups whose members' subscriptions are to be compared
        self._leaving: dict[Peer, None] = {}  # closed connections that are still in groups
        self._more = trio.Event()
        self.emptied = Event[[str]]()
        self.resubscribed = Event[[]]()

    def consumer(self, group: str) -> ConsumerGroup | None:
        """A consumer group with at least one member, or None."""
        return self._consumers.get(group)

    def consumer_by_client_id(self, group: str, client_id: str) -> Peer | None:
        """The connection of a group's member, or None; of several with that id, the one with the newest heartbeat."""
        found = self._consumers.get(group)
        members = [] if found is None else [each for each in found.members.items() if each[1].client_id == client_id]
        return max(members, key=lambda each: each[1].last_seen)[0] if members else None

    def groups_of(self, topic: str) -> list[str]:
        """The connected consumer groups that subscribe to a topic."""
        return [group.name for group in self._consumers.values() if topic in group.subscriptions]

    def producers(self, group: str) -> list[tuple[Peer, GroupMember]]:
        """The connected producers of a group."""
        return list(self._producers.get(group, {}).items())

    def producer_groups(self) -> list[str]:
        """The names of the groups with connected producers."""
        return list(self._producers)

    def producer_by_client_id(self, client_id: str) -> Peer | None:
        """The connection of a producer, of any group; of several with that id, the one with the newest heartbeat."""
        peers = self._producer_peers.get(client_id)
        return next(reversed(peers)) if peers else None

    def register_consumer(self, peer: Peer, client_id: str, data: ConsumerData, *, language: str, version: int) -> None:
        """Register a consumer from its heartbeat."""
        group = self._consumers.setdefault(data.group_name, ConsumerGroup(data.group_name))
        before = group.consumes()
        group.consume_type = data.consume_type
        group.message_model = data.message_model
        group.consume_from_where = data.consume_from_where
        known = group.members.get(peer)
        subscribed = {subscription.topic: subscription for subscription in data.subscription_data_set}
        group.members[peer] = GroupMember(client_id, language, version, trio.current_time(), subscribed)
        if known is None:
            self._joined.setdefault(peer, _Joined()).consumers[group.name] = None
        changed = known is None
        for subscription in data.subscription_data_set:
            old = group.subscriptions.get(subscription.topic)
            changed = changed or old is None
            if old is None or subscription.sub_version > old.sub_version:
                group.subscriptions[subscription.topic] = subscription
        for topic in [topic for topic in group.subscriptions if topic not in subscribed]:
            del group.subscriptions[topic]
            changed = True
        if before != group.consumes():
            group.changes += 1
            self.resubscribed()
        if changed:
            self._notify_members(group)
        if known is None or known.subscriptions != subscribed:
            self._compare(group, group.members[peer])

    def register_producer(self, peer: Peer, client_id: str, group: str, *, language: str, version: int) -> None:
        """Register a producer from its heartbeat."""
        members = self._producers.setdefault(group, {})
        former = members.get(peer)
        members[peer] = GroupMember(client_id, language, version, trio.current_time())
        peers = self._producer_peers.setdefault(client_id, {})
        peers[peer] = peers.pop(peer, 0) + 1
        if former is None:
            self._joined.setdefault(peer, _Joined()).producers[group] = None
        else:
            self._leave_client_id(peer, former.client_id)

    def membership_snapshot(
        self, peer: Peer, *, consumers: Sequence[str] = (), producers: Sequence[str] = ()
    ) -> MembershipSnapshot:
        """A snapshot of a connection's membership in the groups that its heartbeat named, each once."""
        of_consumers = [self._consumers[name] for name in consumers]
        of_producers = [self._producers[name] for name in producers]
        return MembershipSnapshot(
            tuple((group, group.members[peer], group.changes) for group in of_consumers),
            tuple((each, each[peer], self._producer_peers[each[peer].client_id]) for each in of_producers),
        )

    def refresh(self, peer: Peer, standing: MembershipSnapshot) -> bool:
        """Accept a heartbeat equal to the one after which the snapshot was taken.

        False: the membership has changed; then nothing was done, and the heartbeat must be processed in full.
        """
        for group, member, changes in standing.consumers:
            if group.changes != changes or group.members.get(peer) is not member:
                return False
        for members, member, _ in standing.producers:
            if members.get(peer) is not member:
                return False
        now = trio.current_time()
        for _, member, _ in standing.consumers:
            member.last_seen = now
        for _, member, peers in standing.producers:
            member.last_seen = now
            peers[peer] = peers.pop(peer)  # the newest heartbeat last
        return True

    def remember(self, peer: Peer, heard: object) -> None:
        """Cache something of a connection's heartbeat while it is in any group."""
        joined = self._joined.get(peer)
        if joined is not None:
            joined.heard = heard

    def remembered(self, peer: Peer) -> object:
        """The value of the last `remember`; None without it."""
        joined = self._joined.get(peer)
        return None if joined is None else joined.heard

    def unregister_consumer(self, peer: Peer, group_name: str) -> None:
        """Remove a consumer that leaves."""
        group = self._consumers.get(group_name)
        if group is None or group.members.pop(peer, None) is None:
            return
        del self._joined[peer].consumers[group_name]
        self._drop_without_groups(peer)
        if group.members:
            self._compare(group)
        else:
            del self._consumers[group_name]
            self.resubscribed()
            self.emptied(group_name)
        self._notify_members(group)

    def unregister_producer(self, peer: Peer, group: str) -> None:
        """Remove a producer that leaves."""
        members = self._producers.get(group)
        if members is None:
            return
        member = members.pop(peer, None)
        if not members:
            del self._producers[group]
        if member is not None:
            del self._joined[peer].producers[group]
            self._drop_without_groups(peer)
            self._leave_client_id(peer, member.client_id)

    def _drop_without_groups(self, peer: Peer) -> None:
        """Drop a connection that is in no group any more."""
        joined = self._joined[peer]
        if not joined.consumers and not joined.producers:
            del self._joined[peer]

    def _leave_client_id(self, peer: Peer, client_id: str) -> None:
        """Decrement the number of groups in which a connection has a producer's client id."""
        peers = self._producer_peers[client_id]
        peers[peer] -= 1
        if not peers[peer]:
            del peers[peer]
        if not peers:
            del self._producer_peers[client_id]

    def peer_closed(self, peer: Peer) -> None:
        """Remove a closed connection from all groups: at once, or in the background if there are many."""
        joined = self._joined.get(peer)
        if joined is None:
            return
        if self._takes(len(joined.consumers) + len(joined.producers)):
            for _ in self._leave(peer, joined):
                pass
        else:
            self._leaving[peer] = None
            self._more.set()

    def _leave(self, peer: Peer, joined: _Joined) -> Iterator[None]:
        for consumers in in_batches(list(joined.consumers)):
            for name in consumers:
                self.unregister_consumer(peer, name)
            yield
        for producers in in_batches(list(joined.producers)):
            for name in producers:
                self.unregister_producer(peer, name)
            yield

    def expire(self) -> None:
        """Remove members without a heartbeat for 120 s."""
        for _ in self._expiring():
            pass

    def _expiring(self) -> Generator[None, None, None]:
        limit = self._rounds.limit(CLIENT_EXPIRY_SECONDS)
        yield from self._expiring_consumers(limit)
        yield from self._expiring_producers(limit)

    def _expiring_consumers(self, limit: float) -> Generator[None, None, None]:
        silent, last = 0, ""
        for groups in in_batches(list(self._consumers.values())):
            for group in groups:
                for peers in in_batches([peer for peer, member in group.members.items() if member.last_seen < limit]):
                    for peer in peers:
                        if self._expire_consumer(group, peer, limit):
                            silent, last = silent + 1, f"{peer.remote_text} of {group.name}"
                    yield
            yield
        if silent:
            log.info("%(count)d consumers sent no heartbeat, the last: %(last)s", {"count": silent, "last": last})

    def _expiring_producers(self, limit: float) -> Generator[None, None, None]:
        for producers in in_batches(list(self._producers.items())):
            for name, members in producers:
                for peers in in_batches([peer for peer, member in members.items() if member.last_seen < limit]):
                    for peer in peers:
                        if peer in members and members[peer].last_seen < limit:
                            self.unregister_producer(peer, name)
                    yield
            yield

    def _expire_consumer(self, group: ConsumerGroup, peer: Peer, limit: float) -> bool:
        member = group.members.get(peer)
        if member is None or member.last_seen >= limit:
            return False
        self.unregister_consumer(peer, group.name)
        return True

    def _notify_members(self, group: ConsumerGroup) -> None:
        if not self._notifies(group.name):
            return
        if group.name not in self._unnotified and self._takes(len(group.members)):
            for peer in list(group.members):
                _notify(peer, group)
        else:
            self._unnotified[group.name] = None
            self._more.set()

    def _compare(self, group: ConsumerGroup, changed: GroupMember | None = None) -> None:
        """Compare the subscriptions of a group's members: at once, or in the background if there are many."""
        if group.agrees_with(changed):
            return
        if sum([1 + len(member.subscriptions) for member in group.members.values()]) <= _MOST_COMPARED_AT_ONCE:
            for _ in group.compare():
                pass
        else:
            group.uncompared = True
            self._uncompared[group.name] = None
            self._more.set()

    def _takes(self, count: int) -> bool:
        """Whether there is budget to do so much at once."""
        now = trio.current_time()
        if now - self._window > _WINDOW_SECONDS:
            self._window, self._at_once = now, 0
        if self._at_once + count > _MOST_AT_ONCE:
            return False
        self._at_once += count
        return True

    async def run(self, budget: BackgroundBudget) -> None:
        """Expire members as background work, and do the work that was too much at once in parts; never returns."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._do_the_rest)
            while True:
                await self._rounds.pause(_SCAN_SECONDS)
                await budget.carry_out(self._expiring())

    async def _do_the_rest(self) -> None:
        while True:
            self._more = trio.Event()  # before the work, so that work that arrives meanwhile is not missed
            for steps in (self._leave_soon(), self._notify_soon(), self._compare_soon()):
                for _ in steps:
                    await trio.lowlevel.checkpoint()
            await self._more.wait()

    def _leave_soon(self) -> Iterator[None]:
        while self._leaving:
            peer = next(iter(self._leaving))
            del self._leaving[peer]
            joined = self._joined.get(peer)
            if joined is not None:
                yield from self._leave(peer, joined)

    def _notify_soon(self) -> Iterator[None]:
        while self._unnotified:
            name = next(iter(self._unnotified))
            del self._unnotified[name]  # members that come or leave from now on cause a new notification
            group = self._consumers.get(name)
            for peers in in_batches([] if group is None else list(group.members)):
                for peer in peers:
                    if group is not None and peer in group.members:
                        _notify(peer, group)
                yield

    def _compare_soon(self) -> Iterator[None]:
        while self._uncompared:
            name = next(iter(self._uncompared))
            del self._uncompared[name]
            group = self._consumers.get(name)
            until = trio.current_time() + STEP_SECONDS
            for _ in () if group is None else group.compare():
                if trio.current_time() > until:
                    yield
                    until = trio.current_time() + STEP_SECONDS
            yield


def _notify(peer: Peer, group: ConsumerGroup) -> None:
    peer.push(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": group.name})
