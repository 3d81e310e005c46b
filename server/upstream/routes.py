"""The queues of other brokers, as name servers of other processes know them.

A broker that shares out queues among consumers has to know those of all brokers. It is asked by clients every few
seconds, and must answer at once; so it answers from what it knows, and asks the name servers in the background: at
once about a topic that is new to it, and about each topic that clients still ask for every 30 s. Until it knows of the
others it names no queue: a consumer that got its own alone would give up those of the brokers that it asked before.
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
from rocketwire.server.upstream.connecting import UpstreamUnreachable
from rocketwire.server.upstream.requests import ask
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
"""For how long nobody asks for a topic that is then forgotten."""
_PATIENCE_SECONDS: Final = 5.0
"""For so long a new topic has no queues while no name server answers; then it has those of this broker."""


class _Known:
    """What is known of a topic: the queues of other brokers, None as yet; when clients asked for it first, and last."""

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
        self._known: dict[str, _Known] = {}
        self._new = trio.Event()

    def queues(self, topic: str) -> list[QueueData]:
        """The queues of a topic, of each broker that is known to have it; none while name servers are asked."""
        own = self._own(topic)
        if not self._addresses:
            return own
        known = self._known.get(topic)
        if known is None:
            known = self._known[topic] = _Known()
            self._new.set()
        known.used = trio.current_time()
        if known.queues is None and known.used < known.since + _PATIENCE_SECONDS:
            return []
        return [*own, *(known.queues or ())]

    async def run(self) -> None:
        """Ask the name servers; never returns."""
        while True:
            if not self._known:
                await self._new.wait()
            try:
                async with trio.open_nursery() as nursery:
                    await self._ask_on(await connect(self._addresses[0], nursery))
            except* UpstreamUnreachable as failures:
                log.debug("no routes: %(reason)s", {"reason": failures.exceptions[0]})
                self._addresses.append(self._addresses.pop(0))
                await trio.sleep(_AGAIN_SECONDS)

    async def _ask_on(self, line: BrokerConnection) -> None:
        while True:
            self._new = trio.Event()
            oldest = trio.current_time() - _FORGOTTEN_SECONDS
            for topic, known in list(self._known.items()):
                if known.used < oldest:
                    del self._known[topic]
                else:
                    known.queues = await self._asked(line, topic)
            with trio.move_on_after(_PERIOD_SECONDS):
                await self._new.wait()

    async def _asked(self, line: BrokerConnection, topic: str) -> tuple[QueueData, ...]:
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        answer = await ask(line, ClientRequest(RequestCode.GET_ROUTEINFO_BY_TOPIC, header))
        if answer.code != ResponseCode.SUCCESS:
            return ()
        try:
            found = decode_body(TopicRouteData, answer.body)
        except WireError as error:
            raise UpstreamUnreachable(f"no route of {topic}: {error}") from error
        others = [each for each in found.queue_datas if each.broker_name != self._broker]
        return tuple(usable_queues(topic, others))


def usable_queues(topic: str, queues: Iterable[QueueData]) -> list[QueueData]:
    """The queues of each broker, once, with numbers that a topic may have; what is too much is left out."""
    found: dict[str, QueueData] = {}
    left = MOST_IN_ALL
    for each in queues:
        read, write = (min(max(number, 0), MOST_QUEUES) for number in (each.read_queue_nums, each.write_queue_nums))
        if each.broker_name in found:
            continue
        left -= max(read, write)
        if left < 0:
            log.warning(
                "topic %(topic)s has more than %(most)d queues: those of further brokers are left out",
                {"topic": topic, "most": MOST_IN_ALL},
            )
            break
        if (read, write) != (each.read_queue_nums, each.write_queue_nums):
            each = replace(each, read_queue_nums=read, write_queue_nums=write)  # noqa: PLW2901 - as it can be used
        found[each.broker_name] = each
    return list(found.values())
