"""A second cluster that gets a copy of some sends, to see whether it answers as the first one does.

A copy is made of what the guards have admitted; a task sends it, and the client's request does not depend on it:
when too many copies wait, further ones are dropped. Once both clusters have answered, or one of them will not, the
answers are compared: the codes, and the queue if the client chose it. Offsets differ, for the clusters have other
messages.

Half messages are not copied: the second cluster would never get their outcomes.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple

import trio

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.limits.limits import Limits
from rocketwire.server.proxy.sends import SENDS, is_half, number
from rocketwire.server.proxy.tunnels import OnRelayedAnswer
from rocketwire.server.upstream.broker_connection import OnAnswer
from rocketwire.server.upstream.cluster import MASTER, BrokerKey, UpstreamCluster
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)

MOST_COPIES: Final = 1000
MOST_BYTES: Final = 16 << 20
SAME: Final = "same"
DIFFERENT: Final = "different"
NOT_COMPARED: Final = "not_compared"
DROPPED: Final = "dropped"
OUTCOMES: Final = (SAME, DIFFERENT, NOT_COMPARED, DROPPED)
_SECONDS: Final = 5.0
_FIRST_SECONDS: Final = 10.0
"""For the answer of the first cluster: a broker may drop one while the connection stays."""
_PERIOD_SECONDS: Final = 1.0
_ROUTE_SECONDS: Final = 10.0
_MOST_ROUTES: Final = 10_000
_MILLIONTHS: Final = 1_000_000
_CLUSTERS: Final = 2


class _ClusterAnswer(NamedTuple):
    """What a cluster answered."""

    code: int
    queue: str
    remark: str


class _Copy:
    """A send of which the second cluster gets a copy.

    Attributes:
        broker: The broker of the first cluster that it is for.
        queue: The queue that it is for; below 0: the broker chooses.
        answers: The answers of the clusters, by their numbers; None: there is no answer.
    """

    __slots__ = ("answers", "body", "broker", "header", "queue", "topic")

    def __init__(self, broker: str, header: Header, body: bytes, topic: str, queue: int) -> None:
        self.broker = broker
        self.header = header
        self.body = body
        self.topic = topic
        self.queue = queue
        self.answers: dict[int, _ClusterAnswer | None] = {}


class ShadowCluster:
    """Copies a sample of sends to a second cluster.

    Args:
        cluster: The second cluster.
        pool: The connections to it.
        percent: How many of a hundred sends are copied; below one is possible.
        choose: Gives a random number below another.
        limits: Decide whether a line of the log is due.

    Attributes:
        cluster: The second cluster.
        sampled: How many sends were chosen.
        outcomes: How many had each outcome of OUTCOMES; those in flight have none yet.
    """

    def __init__(
        self,
        cluster: UpstreamCluster,
        pool: ConnectionPool,
        *,
        percent: float,
        choose: Callable[[int], int],
        limits: Limits,
    ) -> None:
        self.cluster = cluster
        self._pool = pool
        self._chance = round(percent * _MILLIONTHS / 100)
        self._choose = choose
        self._limits = limits
        self._waiting, self._received = trio.open_memory_channel[_Copy](MOST_COPIES)
        # Those in flight, the oldest first, and until when the first cluster may answer.
        self._open: dict[_Copy, float] = {}
        self._bytes = 0
        self._routes: dict[str, tuple[float, TopicRouteData | UpstreamConnectionError | None]] = {}
        self.sampled = 0
        self.outcomes: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))

    # --- the first cluster

    @property
    def chance(self) -> int:
        """How many of a million sends are copied."""
        return self._chance

    def copy_send(self, broker: str, header: Header, body: Buffer) -> OnRelayedAnswer | None:
        """Copy a send, if it is chosen.

        Args:
            broker: The broker that it is for.
            header: Its header.
            body: Its body, which is copied.

        Returns:
            The function to call with the header and body of the broker's answer, or with None if there is none. None:
            the answer is not needed.
        """
        return self.take_chosen(broker, header, body) if self._is_chosen(header) else None

    def take_chosen(self, broker: str, header: Header, body: Buffer) -> OnRelayedAnswer | None:
        """Copy a send that is chosen already: as `copy_send`."""
        copy = self._make_copy(broker, header, body)
        if copy is None:
            return None
        if header.is_oneway:
            self._note_answer(copy, 0, None)
            return None
        return partial(self._answered_frame, copy)

    def around(self, broker: str, header: Header, body: Buffer, done: OnAnswer) -> OnAnswer:
        """Copy a send that is made for a call, if it is chosen; return what receives its answer."""
        copy = self._make_copy(broker, header, body) if self._is_chosen(header) else None
        return done if copy is None else partial(self._answered_call, copy, done)

    def drop(self, count: int) -> None:
        """So many sends were chosen, and not copied."""
        self.sampled += count
        self.outcomes[DROPPED] += count

    def _is_chosen(self, header: Header) -> bool:
        return header.code in SENDS and self._choose(_MILLIONTHS) < self._chance

    def _make_copy(self, broker: str, header: Header, body: Buffer) -> _Copy | None:
        fields, ext = SENDS.get(header.code), header.ext or {}
        if fields is None or is_half(fields, ext):
            return None
        self.sampled += 1
        if len(self._open) >= MOST_COPIES or self._bytes + len(body) > MOST_BYTES:
            self.outcomes[DROPPED] += 1
            return None
        copy = _Copy(broker, header, bytes(body), ext.get(fields.topic, ""), number(ext.get(fields.queue), -1))
        self._open[copy] = trio.current_time() + _FIRST_SECONDS
        self._bytes += len(copy.body)
        self._waiting.send_nowait(copy)  # it holds as many as may be in flight
        return copy

    def _answered_frame(self, copy: _Copy, header: Header | None, _body: memoryview) -> None:
        self._note_answer(copy, 0, None if header is None else _cluster_answer(header.code, header.ext, header.remark))

    def _answered_call(self, copy: _Copy, done: OnAnswer, found: Response | UpstreamConnectionError) -> None:
        done(found)
        self._note_answer(
            copy,
            0,
            None
            if isinstance(found, UpstreamConnectionError)
            else _cluster_answer(found.code, found.ext, found.remark),
        )

    # --- the second cluster

    async def run(self) -> None:
        """Pass copies on; never returns."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._pool.run)
            nursery.start_soon(self.cluster.run)
            nursery.start_soon(self._give_up)
            async for copy in self._received:
                try:
                    await self._pass_on(copy)
                except (UpstreamConnectionError, WireError) as error:
                    self._answered(
                        copy,
                        error if isinstance(error, UpstreamConnectionError) else UpstreamConnectionError(str(error)),
                    )
                except Exception as error:  # a bug must not end the proxy
                    log.exception("shadow: a send to %(topic)s", {"topic": copy.topic})
                    self._answered(copy, UpstreamConnectionError(str(error)))

    async def _give_up(self) -> None:
        """Wait no more for answers of the first cluster that do not come."""
        while True:
            await trio.sleep(_PERIOD_SECONDS)
            now = trio.current_time()
            for copy in [copy for copy, until in self._open.items() if until < now]:
                if 0 not in copy.answers:
                    self._note_answer(copy, 0, None)

    async def _pass_on(self, copy: _Copy) -> None:
        """Send a copy; its answer comes later.

        Raises:
            UpstreamConnectionError: it cannot be sent.
            WireError: it does not fit in a frame.
        """
        header = copy.header
        address = self._address(copy, await self._route(copy.topic))
        connection = self._pool.open_connection(address) or await self._pool.get_connection(address)
        request = ClientRequest(header.code, header.ext, copy.body, header.language, header.version)
        connection.send(request, seconds=_SECONDS, done=partial(self._answered, copy))
        connection.flush()

    async def _route(self, topic: str) -> TopicRouteData | None:
        """The route of a topic in the second cluster; it is requested again after some seconds only."""
        now = trio.current_time()
        known = self._routes.get(topic)
        if known is None or known[0] < now:
            try:
                found = await self.cluster.route(topic)
            except UpstreamConnectionError as error:
                known = (now + _SECONDS, error)
            else:
                known = (now + _ROUTE_SECONDS, found)
                if found is not None:
                    self.cluster.take_brokers(found.broker_datas)
            if len(self._routes) >= _MOST_ROUTES:
                self._routes.clear()
            self._routes[topic] = known
        if isinstance(known[1], UpstreamConnectionError):
            raise known[1]
        return known[1]

    def _address(self, copy: _Copy, route: TopicRouteData | None) -> Address:
        """The broker for a copy: of those with the topic the one of the same name, or one that has the queue.

        A topic that no broker has goes to any: it makes it, or refuses.
        """
        brokers = self.cluster.brokers
        queues = {each.broker_name: each.write_queue_nums for each in ([] if route is None else route.queue_datas)}
        masters = [key.name for key in brokers if key.broker_id == MASTER and (not queues or key.name in queues)]
        if not masters:
            raise UpstreamConnectionError("no broker of the second cluster is known")
        name = min(masters, key=lambda name: (name != copy.broker, queues.get(name, 0) <= copy.queue, name))
        return brokers[BrokerKey(name, MASTER)]

    def _answered(self, copy: _Copy, found: Response | UpstreamConnectionError) -> None:
        self._bytes -= len(copy.body)
        copy.body = b""
        if isinstance(found, UpstreamConnectionError):
            if self._limits.may_log("shadow: not reached"):
                log.warning("shadow: a send to %(topic)s: %(reason)s", {"topic": copy.topic, "reason": found})
            self._note_answer(copy, 1, None)
        else:
            self._note_answer(copy, 1, _cluster_answer(found.code, found.ext, found.remark))

    # --- comparing

    def _note_answer(self, copy: _Copy, number: int, answer: _ClusterAnswer | None) -> None:
        """Note the answer of a cluster, and compare both once they have come. A late one changes nothing."""
        if number in copy.answers:
            return
        copy.answers[number] = answer
        if len(copy.answers) == _CLUSTERS:
            del self._open[copy]
            self.outcomes[self._compare(copy, copy.answers[0], copy.answers[1])] += 1

    def _compare(self, copy: _Copy, first: _ClusterAnswer | None, second: _ClusterAnswer | None) -> str:
        if first is None or second is None:
            return NOT_COMPARED
        stored = first.code == second.code == ResponseCode.SUCCESS
        if first.code == second.code and (not stored or copy.queue < 0 or first.queue == second.queue):
            return SAME
        if self._limits.may_log(f"shadow: {first.code} {second.code}"):
            log.warning(
                "shadow: a send to %(topic)s: the first cluster answers %(first)s, the second %(second)s",
                {"topic": copy.topic, "first": _shown(first), "second": _shown(second)},
            )
        return DIFFERENT


def shadow_of(
    name_servers: Iterable[Address],
    pool: ConnectionPool,
    *,
    percent: float,
    choose: Callable[[int], int],
    limits: Limits,
) -> ShadowCluster | None:
    """The object that copies sends to the cluster of these name servers; None: there are none."""
    addresses = tuple(name_servers)
    if not addresses:
        return None
    return ShadowCluster(UpstreamCluster(addresses, pool), pool, percent=percent, choose=choose, limits=limits)


def _cluster_answer(code: int, ext: Mapping[str, str] | None, remark: str | None) -> _ClusterAnswer:
    return _ClusterAnswer(code, (ext or {}).get("queueId", ""), remark or "")


def _shown(answer: _ClusterAnswer) -> str:
    if answer.code == ResponseCode.SUCCESS:
        return f"{answer.code} with queue {answer.queue}"
    return f"{answer.code} ({answer.remark})"
