"""Makes the front for 5.x clients of a cluster far away."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

import trio

from rocketwire.server.config.live import Live
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Proof
from rocketwire.server.core.works import Works
from rocketwire.server.dispatch.guard import Guard
from rocketwire.server.grpc.clients import Client
from rocketwire.server.grpc.front import Front, Parts
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.remote_calls.dispatch import Charging, Copying, RemoteDispatch
from rocketwire.server.remote_calls.groups import RemoteGroups
from rocketwire.server.remote_calls.members import Members
from rocketwire.server.remote_calls.message_places import MessagePlaces
from rocketwire.server.remote_calls.pulls.service import Pulls
from rocketwire.server.remote_calls.renewing import RenewingHeld
from rocketwire.server.remote_calls.topics import RemoteTopics
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.transactions.hearing import MayHear, everybody
from rocketwire.server.upstream.cluster import Cluster
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.server.upstream.lines import Lines

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import Connection
    from rocketwire.server.grpc.transport.serving import Plain


class RemoteFront:
    """Serves connections of 5.x clients; a listener passes them on."""

    def __init__(self, front: Front, held: RenewingHeld, pulls: Pulls) -> None:
        self._pulls = pulls
        self._front = front
        self._held = held

    @property
    def prepared(self) -> bool:
        """Whether connections can be taken."""
        return self._front.prepared

    async def prepare(self) -> None:
        """Make what all connections need."""
        await self._front.prepare()

    def take(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        first: bytes,
        *,
        nursery: trio.Nursery,
        on_close: Callable[[Any], None],
    ) -> Connection:
        """Serve a connection of which `first` was read; `on_close` is called once it is closed."""
        return self._front.take(sock, remote, first, nursery=nursery, on_close=on_close)

    async def run(self, budget: BackgroundBudget) -> None:
        """Renew deliveries, and forget clients that are silent as background work; never returns."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._front.run, budget)
            nursery.start_soon(self._held.run)
            nursery.start_soon(self._pulls.run)


def remote_front(
    cluster: Cluster,
    lines: Lines,
    *,
    clock: Clock,
    metrics: Metrics,
    in_flight: InFlight,
    works: Works,
    keys: Live[GrpcKeys] | None = None,
    send_keys: Live[SendKeys] | None = None,
    upstream_keys: Live[UpstreamKeys] | None = None,
    guards: Iterable[Guard] = (),
    places: MessagePlaces | None = None,
    identify: Callable[[Proof], None] | None = None,
    charging: Charging | None = None,
    copying: Copying | None = None,
    may_hear: MayHear = everybody,
    answered: Callable[[int, float], None] | None = None,
    took: Callable[[float, int], None] | None = None,
) -> RemoteFront:
    """The front of a cluster.

    Args:
        cluster: The cluster; somebody runs it.
        lines: The connections; somebody runs them.
        clock: The time of handles.
        metrics: Counts requests.
        in_flight: Counts the bytes in flight.
        works: Carries out long work.
        keys: The keys of calls, if they are not the default ones.
        send_keys: The keys of sends, likewise.
        upstream_keys: What the cluster cannot tell, likewise.
        guards: Admit or refuse each request while they are active.
        places: As for `RemoteDispatch`.
        identify: As for `Front`.
        charging: As for `RemoteDispatch`.
        copying: Likewise.
        may_hear: Says whether a producer may receive the messages of a topic.
        answered: As for `RemoteDispatch`.
        took: As for `ForwardedCalls`.
    """
    guards = tuple(guards)
    topics = RemoteTopics(cluster, lines)
    groups = RemoteGroups(topics, lines, upstream_keys)
    pulls = Pulls(topics, groups, lines, clock)
    members = Members(topics, lines, pulls, may_hear)
    dispatch = RemoteDispatch(
        topics=topics,
        groups=groups,
        members=members,
        lines=lines,
        clock=clock,
        pulls=pulls,
        metrics=metrics,
        in_flight=in_flight,
        guards=guards,
        places=places,
        charging=charging,
        copying=copying,
        answered=answered,
    )
    renewals = Renewals(trio.current_time, clock)
    held = RenewingHeld(dispatch.change, renewals, clock)

    def gone(peer: object) -> None:
        if isinstance(peer, Client):
            members.left(peer)

    def plain() -> Mapping[str, Plain]:
        from rocketwire.server.remote_calls import forwarding  # noqa: PLC0415 - protobuf comes along

        return forwarding.plain_calls(
            lambda: forwarding.ForwardedCalls(
                topics=topics,
                lines=lines,
                dispatch=dispatch,
                metrics=metrics,
                in_flight=in_flight,
                clock=clock,
                keys=call_keys,
                send_keys=sent_keys,
                turns=turns,
                took=took,
            )
        )

    turns = count()
    call_keys, sent_keys = keys or Live(GrpcKeys()), send_keys or Live(SendKeys())
    front = Front(
        Parts(
            clock=clock,
            groups=groups,
            held=lambda: held,
            keys=call_keys,
            plain=plain,
            presence=renewals,
            send_keys=sent_keys,
            topics=topics,
            turns=turns,
        ),
        dispatch,
        peer_closed=gone,
        line_closed=lambda _: None,
        guarded=bool(guards),
        identify=identify,
        kernel_guarded=lambda: True,
        in_flight=in_flight,
        works=works,
    )
    return RemoteFront(front, held, pulls)
