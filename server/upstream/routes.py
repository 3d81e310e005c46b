"""The queues of other brokers, by the answers of name servers of other processes.

A broker that shares out queues among consumers has to know those of all brokers. Clients query them every few
seconds, and need an answer at once; so it answers from memory, and queries the name servers in the background: at
once about a new topic, and every 30 s about each topic that clients still query. Until it knows the queues of the
others it names no queue: a consumer that got only this broker's would drop those that other brokers gave it before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import trio

from rocketwire.remoting.core.session import ClientRequest
from rocketwire.server.topics.topics import MOST_QUEUES
from rocketwire.server.upstream.broker_connection import BrokerConnection, connect
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.requests import send_request
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import QueueData, TopicRouteData
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.route import GetRouteInfoRequestHeader

log = logging.getLogger(__name__)

MOST_IN_ALL: Final = 4 * MOST_QUEUES
"""Of all brokers: lists with an entry for each queue are made of them."""
_PERIOD_SECONDS: Final = 30.0
_AGAIN_SECONDS: Final = 1.0
_FORGOTTEN_SECONDS: Final = 300.0
"""A topic that no client queries for so long is forgotten."""
_PATIENCE_SECONDS: Final = 5.0
"""For so long a new topic has no queues while no name server answers; then it has those of this broker."""


class _TopicQueues:
    """A topic: the queues of other brokers, None at first; the times of the first and the last query by a client."""

    __slots__ = ("queues", "since", "used")

    def __init__(self) -> None:
        self.queues: tuple[QueueData, ...] | None = None
        self.since = self.used = trio.current_time()


class RemoteRoutes:
    """The queues of topics, of this broker and the others.

    Args:
        addresses: The name servers; the first that answers gets the requests.
        broker: The name of this broker.
        own: The queues of this broker.
    """

    def __init__(self, addresses: Iterable[Address], broker: str, own: Callable[[str], list[QueueData]]) -> None:
        self._addresses = list(addresses)
        self._broker = broker
        self._own = own
        self._topics: dict[str, _TopicQueues] = {}
        self._new = trio.Event()

    def queues(self, topic: str) -> list[QueueData]:
        """The queues of a topic, of each broker that is known to have it; none while the first answer is awaited."""
        own = self._own(topic)
        if not self._addresses:
            return own
        known = self._topics.get(topic)
        if known is None:
            known = self._topics[topic] = _TopicQueues()
            self._new.set()
        known.used = trio.current_time()
        if known.queues is None and known.used < known.since + _PATIENCE_SECONDS:
            return []
        return [*own, *(known.queues or ())]

    async def run(self) -> None:
        """Query the name servers; never returns."""
        while True:
            if not self._topics:
                await self._new.wait()
            try:
                async with trio.open_nursery() as nursery:
                    await self._refresh(await connect(self._addresses[0], nursery))
            except* UpstreamConnectionError as failures:
                log.debug("no routes: %(reason)s", {"reason": failures.exceptions[0]})
                self._addresses.append(self._addresses.pop(0))
                await trio.sleep(_AGAIN_SECONDS)

    async def _refresh(self, connection: BrokerConnection) -> None:
        while True:
            self._new = trio.Event()
            oldest = trio.current_time() - _FORGOTTEN_SECONDS
            for topic, known in list(self._topics.items()):
                if known.used < oldest:
                    del self._topics[topic]
                else:
                    known.queues = await self._fetch_queues(connection, topic)
            with trio.move_on_after(_PERIOD_SECONDS):
                await self._new.wait()

    async def _fetch_queues(self, connection: BrokerConnection, topic: str) -> tuple[QueueData, ...]:
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        answer = await send_request(connection, ClientRequest(RequestCode.GET_ROUTEINFO_BY_TOPIC, header))
        if answer.code != ResponseCode.SUCCESS:
            return ()
        try:
            found = decode_body(TopicRouteData, answer.body)
        except WireError as error:
            raise UpstreamConnectionError(f"no route of {topic}: {error}") from error
        others = [each for each in found.queue_datas if each.broker_name != self._broker]
        return tuple(usable_queues(topic, others))


def usable_queues(topic: str, queues: Iterable[QueueData]) -> list[QueueData]:
    """The queues of each broker, once, with numbers that a topic may have; those beyond the limit are omitted."""
    found: dict[str, QueueData] = {}
    room = MOST_IN_ALL
    for each in queues:
        read, write = (min(max(number, 0), MOST_QUEUES) for number in (each.read_queue_nums, each.write_queue_nums))
        if each.broker_name in found:
            continue
        room -= max(read, write)
        if room < 0:
            log.warning(
                "topic %(topic)s has more than %(most)d queues: those of further brokers are left out",
                {"topic": topic, "most": MOST_IN_ALL},
            )
            break
        if (read, write) != (each.read_queue_nums, each.write_queue_nums):
            each = replace(each, read_queue_nums=read, write_queue_nums=write)  # noqa: PLW2901 - as it can be used
        found[each.broker_name] = each
    return list(found.values())
