"""Topics of a cluster: their queues by its name servers, and their types by a broker.

What is cached answers at once, and is loaded again in the background when it is not fresh any more. A call waits only
for a topic that is new, or that no call has used for long.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Final, Protocol

import trio

from rocketwire.remoting.core.session import ClientRequest
from rocketwire.server.core.long_tasks import STEP_SECONDS
from rocketwire.server.grpc.tables.directories import TopicShare
from rocketwire.server.remote_calls.delay_levels import levels_of
from rocketwire.server.topics.message_types import MESSAGE_TYPE, MessageType
from rocketwire.server.upstream.cluster import MASTER, BrokerKey, UpstreamCluster
from rocketwire.server.upstream.connecting import UpstreamConnectionError
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
"""What no call used for so long is not answered with any more, but loaded first."""
AVOIDED_SECONDS: Final = 3.0
_MOST: Final = 100_000
_ALL_TYPES: Final = {MESSAGE_TYPE: str(MessageType.MIXED)}
"""Of a topic of a 4.9 broker, which knows no types."""


class OnTopic(Protocol):
    """Called once a topic is loaded."""

    def __call__(self, *, found: bool | UpstreamConnectionError) -> None:
        """Take whether the topic exists, or the error for which that is not known."""


class _CachedTopic:
    """A topic."""

    __slots__ = ("at", "attributes", "attributes_at", "begun", "ended", "failed", "lock", "shares")

    def __init__(self) -> None:
        self.shares: tuple[TopicShare, ...] = ()
        self.at = -UNUSED_SECONDS
        self.attributes: Mapping[str, str] | None = None
        self.attributes_at = -TYPE_SECONDS
        self.lock = trio.Lock()
        self.begun = 0  # requests
        self.ended = 0
        self.failed = ""  # why the last request has no answer


class RemoteTopics:
    """The topics of a cluster, and which of its brokers answer."""

    def __init__(self, cluster: UpstreamCluster, pool: ConnectionPool) -> None:
        self._cluster = cluster
        self._pool = pool
        self._cached: OrderedDict[str, _CachedTopic] = OrderedDict()
        self._avoided: dict[str, float] = {}
        self._levels: tuple[int, ...] = ()
        self._turns = count()
        self._waiting: dict[str, list[OnTopic]] = {}
        self._turn = trio.Lock()

    # --- queries of calls

    def shares(self, topic: str) -> Sequence[TopicShare]:
        """The shares of a topic by broker name; none: it is to be loaded, or there is no such topic."""
        cached = self._cached.get(topic)
        if cached is None:
            return ()
        age = trio.current_time() - cached.at
        if age >= UNUSED_SECONDS:
            return ()
        if age >= FRESH_SECONDS and not cached.lock.locked():
            self._pool.start(self._load_again, topic)
        return cached.shares

    def broker_to_receive_from(self, broker: str, topic: str) -> str:
        """The broker that a client names; if it names none, the readable ones one after the other."""
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
        cached = self._cached.get(topic)
        return cached is None or cached.attributes is not _ALL_TYPES

    @property
    def delay_levels(self) -> Sequence[int]:
        """The delays of the levels of brokers of 4.9, in ms, by the newest answer of one."""
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

    # --- requests to the cluster

    async def load(self, topic: str) -> bool:
        """Load a topic, unless that was just done; return whether it exists.

        Raises:
            UpstreamConnectionError: no name server answers, and the topic was not cached.
        """
        cached = self._cached.setdefault(topic, _CachedTopic())
        begun = cached.begun
        async with cached.lock:  # thousands of waiting tasks continue one after the other
            try:
                if cached.ended <= begun and trio.current_time() - cached.at >= FRESH_SECONDS:
                    await self._fetch_once(topic, cached)
                elif cached.ended > begun and cached.failed:
                    raise UpstreamConnectionError(cached.failed)
            finally:
                waits = cached.lock.statistics().tasks_waiting
                if not cached.shares and not waits and self._cached.get(topic) is cached:
                    del self._cached[topic]
        while len(self._cached) > _MOST:
            self._cached.popitem(last=False)
        return bool(cached.shares)

    def is_fresh(self, topic: str) -> bool:
        """Whether a topic was loaded just now, and exists."""
        cached = self._cached.get(topic)
        return cached is not None and bool(cached.shares) and trio.current_time() - cached.at < FRESH_SECONDS

    def when_loaded(self, topic: str, done: OnTopic) -> bool:
        """Load a topic, and call `done` then; False: no connections are made any more.

        Thousands of calls may wait: these are no tasks, of which all would run in one pass of the event loop.
        """
        waiting = self._waiting.setdefault(topic, [])
        if not waiting and not self._pool.start(self._load_for_all, topic):
            del self._waiting[topic]
            return False
        waiting.append(done)
        return True

    async def _load_for_all(self, topic: str) -> None:
        waiting = self._waiting.pop(topic)  # calls that wait from now on need the answer to a later request
        found: bool | UpstreamConnectionError
        try:
            found = await self.load(topic)
        except UpstreamConnectionError as error:
            found = error
        left = deque(waiting)
        while left:
            async with self._turn:  # of one topic in a pass of the event loop: each call may list thousands of queues
                until = trio.current_time() + STEP_SECONDS
                while left and trio.current_time() < until:
                    self._tell(topic, left.popleft(), found)

    def _tell(self, topic: str, done: OnTopic, found: bool | UpstreamConnectionError) -> None:  # noqa: FBT001 - as `load` returns it
        try:
            done(found=found)
        except Exception:  # a bug in what is done for one must not keep the others waiting
            log.exception("topic %(topic)s", {"topic": topic})

    async def _fetch_once(self, topic: str, cached: _CachedTopic) -> None:
        """Load a topic; the answer is that of all calls that began to wait before."""
        cached.begun += 1
        cached.failed = ""
        try:
            await self._fetch(topic, cached)
        except UpstreamConnectionError as error:
            cached.failed = str(error)
            raise
        finally:
            cached.ended = cached.begun

    async def _load_again(self, topic: str) -> None:
        try:
            await self.load(topic)
        except UpstreamConnectionError as error:
            log.debug("could not refresh the route of topic %(topic)s: %(reason)s", {"topic": topic, "reason": error})

    async def _fetch(self, topic: str, cached: _CachedTopic) -> None:
        route = await self._cluster.route(topic)
        if route is None:
            cached.shares = ()
            return
        self._cluster.take_brokers(route.broker_datas)
        now = trio.current_time()
        if now - cached.attributes_at >= TYPE_SECONDS:
            cached.attributes = await self._attributes(topic, route, cached.attributes)
            cached.attributes_at = now
        attributes = None if cached.attributes is None else dict(cached.attributes)
        cached.shares = tuple(
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
        cached.at = now
        self._cached.move_to_end(topic)

    async def _attributes(
        self, topic: str, route: TopicRouteData, before: Mapping[str, str] | None
    ) -> Mapping[str, str] | None:
        """The attributes of a topic, by the first broker that answers; if none does, the former ones."""
        header = GetTopicConfigRequestHeader(topic=topic)
        for queues in route.queue_datas:
            address = self.address(queues.broker_name)
            if address is None:
                continue
            try:
                answer = await self._pool.send_request(address, ClientRequest(RequestCode.GET_TOPIC_CONFIG, header))
                if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                    config = await self._pool.send_request(address, ClientRequest(RequestCode.GET_BROKER_CONFIG))
                    if config.code == ResponseCode.SUCCESS:
                        self._levels = levels_of(config.body)
                    return _ALL_TYPES
                if answer.code == ResponseCode.SUCCESS:
                    return decode_body(TopicConfig, answer.body).attributes
            except (UpstreamConnectionError, WireError) as error:
                log.debug("no type of %(topic)s: %(reason)s", {"topic": topic, "reason": error})
        return before
