"""Topics of a cluster: what its name servers say of their queues, and a broker of their types.

What is known answers at once, and is asked for again in the background when it is not fresh any more. A call waits only
for a topic that is new, or that nobody has asked for since long.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Final

import trio

from rocketwire.remoting.core.session import ClientRequest
from rocketwire.server.grpc.tables.directories import TopicShare
from rocketwire.server.remote_calls.delay_levels import levels_of
from rocketwire.server.topics.message_types import MESSAGE_TYPE, MessageType
from rocketwire.server.upstream.cluster import MASTER, BrokerKey, UpstreamCluster
from rocketwire.server.upstream.connecting import UpstreamUnreachable
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.routes import usable_queues
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import Permission, RequestCode, ResponseCode
from rocketwire.wire.headers.admin import GetTopicConfigRequestHeader

log = logging.getLogger(__name__)

FRESH_SECONDS: Final = 2.0
TYPE_SECONDS: Final = 20.0
UNUSED_SECONDS: Final = 60.0
"""What nobody asked for in so long is not answered with any more, but asked for first."""
AVOIDED_SECONDS: Final = 3.0
_MOST: Final = 100_000
_ALL_TYPES: Final = {MESSAGE_TYPE: str(MessageType.MIXED)}
"""Of a topic of a 4.9 broker, which knows no types."""


class _Known:
    """A topic."""

    __slots__ = ("at", "attributes", "attributes_at", "begun", "ended", "failed", "lock", "shares")

    def __init__(self) -> None:
        self.shares: tuple[TopicShare, ...] = ()
        self.at = -UNUSED_SECONDS
        self.attributes: Mapping[str, str] | None = None
        self.attributes_at = -TYPE_SECONDS
        self.lock = trio.Lock()
        self.begun = 0  # questions
        self.ended = 0
        self.failed = ""  # why the last question has no answer


class RemoteTopics:
    """The topics of a cluster, and which of its brokers answer."""

    def __init__(self, cluster: UpstreamCluster, lines: ConnectionPool) -> None:
        self._cluster = cluster
        self._lines = lines
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._avoided: dict[str, float] = {}
        self._levels: tuple[int, ...] = ()
        self._turns = count()

    # --- what calls ask

    def shares(self, topic: str) -> Sequence[TopicShare]:
        """The shares of a topic by broker name; none: it is to be loaded, or there is no such topic."""
        known = self._known.get(topic)
        if known is None:
            return ()
        age = trio.current_time() - known.at
        if age >= UNUSED_SECONDS:
            return ()
        if age >= FRESH_SECONDS and not known.lock.locked():
            self._lines.start(self._load_again, topic)
        return known.shares

    def broker_to_receive_from(self, broker: str, topic: str) -> str:
        """The broker that a client names; of one that names none, each readable one in turn."""
        if broker:
            return broker
        readable = [each.broker for each in self.shares(topic) if each.config.perm & Permission.READ]
        return readable[next(self._turns) % len(readable)] if readable else ""

    def is_avoided(self, broker: str) -> bool:
        """Whether a broker did not answer just now."""
        until = self._avoided.get(broker)
        return until is not None and trio.current_time() < until

    def timed(self, topic: str) -> bool:
        """Whether its brokers deliver messages at a time that the sender gives: those of 4.9 do not."""
        known = self._known.get(topic)
        return known is None or known.attributes is not _ALL_TYPES

    @property
    def delay_levels(self) -> Sequence[int]:
        """The delays of the levels of brokers of 4.9, in ms, as the one has them that was asked last."""
        return self._levels

    # --- brokers

    def address(self, broker: str) -> Address | None:
        """Where the master of a broker is; None: there is none."""
        return self._cluster.brokers.get(BrokerKey(broker, MASTER))

    def masters(self) -> Iterable[tuple[str, Address]]:
        """Name and address of each master, by name."""
        found = self._cluster.brokers
        return [(key.name, found[key]) for key in sorted(found) if key.broker_id == MASTER]

    def failed(self, broker: str) -> None:
        """Note that a broker does not answer."""
        self._avoided[broker] = trio.current_time() + AVOIDED_SECONDS

    def answered(self, broker: str) -> None:
        """Note that a broker answers."""
        if self._avoided:
            self._avoided.pop(broker, None)

    # --- what is asked of the cluster

    async def load(self, topic: str) -> bool:
        """Ask for a topic, unless that was just done; return whether there is one.

        Raises:
            UpstreamUnreachable: nobody answers, and the topic was not known before.
        """
        known = self._known.setdefault(topic, _Known())
        begun = known.begun
        async with known.lock:  # passed on from one to the next: thousands who wait go on one after the other
            try:
                if known.ended <= begun and trio.current_time() - known.at >= FRESH_SECONDS:
                    await self._ask_once(topic, known)
                elif known.ended > begun and known.failed:
                    raise UpstreamUnreachable(known.failed)
            finally:
                waits = known.lock.statistics().tasks_waiting
                if not known.shares and not waits and self._known.get(topic) is known:
                    del self._known[topic]
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return bool(known.shares)

    async def _ask_once(self, topic: str, known: _Known) -> None:
        """Ask for a topic; the answer is that of all who began to wait before."""
        known.begun += 1
        known.failed = ""
        try:
            await self._ask(topic, known)
        except UpstreamUnreachable as error:
            known.failed = str(error)
            raise
        finally:
            known.ended = known.begun

    async def _load_again(self, topic: str) -> None:
        try:
            await self.load(topic)
        except UpstreamUnreachable as error:
            log.debug("could not refresh the route of topic %(topic)s: %(reason)s", {"topic": topic, "reason": error})

    async def _ask(self, topic: str, known: _Known) -> None:
        route = await self._cluster.route(topic)
        if route is None:
            known.shares = ()
            return
        self._cluster.take_brokers(route.broker_datas)
        now = trio.current_time()
        if now - known.attributes_at >= TYPE_SECONDS:
            known.attributes = await self._attributes(topic, route, known.attributes)
            known.attributes_at = now
        attributes = None if known.attributes is None else dict(known.attributes)
        known.shares = tuple(
            TopicShare(
                queues.broker_name,
                TopicConfig(
                    topic_name=topic,
                    read_queue_nums=queues.read_queue_nums,
                    write_queue_nums=queues.write_queue_nums,
                    perm=queues.perm,
                    topic_sys_flag=queues.topic_sys_flag,
                    attributes=attributes,
                ),
            )
            for queues in sorted(usable_queues(topic, route.queue_datas), key=lambda each: each.broker_name)
            if self.address(queues.broker_name) is not None
        )
        known.at = now
        self._known.move_to_end(topic)

    async def _attributes(
        self, topic: str, route: TopicRouteData, before: Mapping[str, str] | None
    ) -> Mapping[str, str] | None:
        """The attributes of a topic, as the first broker says that answers; if none does, those of before."""
        header = GetTopicConfigRequestHeader(topic=topic)
        for queues in route.queue_datas:
            address = self.address(queues.broker_name)
            if address is None:
                continue
            try:
                answer = await self._lines.ask(address, ClientRequest(RequestCode.GET_TOPIC_CONFIG, header))
                if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                    told = await self._lines.ask(address, ClientRequest(RequestCode.GET_BROKER_CONFIG))
                    if told.code == ResponseCode.SUCCESS:
                        self._levels = levels_of(told.body)
                    return _ALL_TYPES
                if answer.code == ResponseCode.SUCCESS:
                    return decode_body(TopicConfig, answer.body).attributes
            except (UpstreamUnreachable, WireError) as error:
                log.debug("no type of %(topic)s: %(reason)s", {"topic": topic, "reason": error})
        return before
