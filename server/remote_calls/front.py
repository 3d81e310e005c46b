"""Makes the front for 5.x clients of a cluster far away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING

import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.long_tasks import LongTaskScheduler
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.dispatch.guard import CallAccounts, RequestGuard
from rocketwire.server.grpc.clients import GrpcClient
from rocketwire.server.grpc.front import GrpcParts, GrpcServer
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.remote_calls.answers import CallAnswers
from rocketwire.server.remote_calls.broker_requests import AnswerChecks, BrokerRequests
from rocketwire.server.remote_calls.dispatch import RemoteDispatch
from rocketwire.server.remote_calls.groups import RemoteGroups
from rocketwire.server.remote_calls.members import RemoteMembers
from rocketwire.server.remote_calls.pop_emulation.service import PopEmulation
from rocketwire.server.remote_calls.renewed_handles import RenewedHandles
from rocketwire.server.remote_calls.topics import RemoteTopics
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.transactions.check_permission import MayCheck, allow_every_producer
from rocketwire.server.upstream.cluster import UpstreamCluster
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.keys import UpstreamKeys

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.context import FastPath


def remote_grpc_server(
    cluster: UpstreamCluster,
    pool: ConnectionPool,
    *,
    clock: Clock,
    metrics: Metrics,
    in_flight: InFlight,
    works: LongTaskScheduler,
    keys: LiveGroup[GrpcKeys] | None = None,
    send_keys: LiveGroup[SendKeys] | None = None,
    upstream_keys: LiveGroup[UpstreamKeys] | None = None,
    guards: Iterable[RequestGuard] = (),
    checks: AnswerChecks = AnswerChecks(),  # noqa: B008 - it is frozen
    accounts: CallAccounts | None = None,
    may_receive: MayCheck = allow_every_producer,
    answered: Callable[[int, float], None] | None = None,
    took: Callable[[float, int], None] | None = None,
) -> GrpcServer:
    """The front of a cluster.

    Args:
        cluster: The cluster; the caller runs it.
        pool: The connections; the caller runs them.
        clock: The time of handles.
        metrics: Counts requests.
        in_flight: Counts the bytes in flight.
        works: Carries out long work.
        keys: The keys of calls, if they are not the default ones.
        send_keys: The keys of sends, likewise.
        upstream_keys: What the cluster does not answer, likewise.
        guards: Admit or refuse each request while they are active.
        checks: What checks requests and answers on their way.
        accounts: As for `GrpcServer`.
        may_receive: Decides whether a producer may receive the messages of a topic.
        answered: As for `CallAnswers`.
        took: As for `ForwardedCalls`.
    """
    guards = tuple(guards)
    topics = RemoteTopics(cluster, pool)
    groups = RemoteGroups(topics, pool, upstream_keys)
    pulls = PopEmulation(topics, groups, pool, clock)
    if accounts is not None:
        accounts.reserve_client_id(pulls.client_id)
    members = RemoteMembers(topics, pool, pulls, may_receive)
    answers = CallAnswers(pool, answered)
    brokers = BrokerRequests(
        topics=topics, pool=pool, clock=clock, pulls=pulls, in_flight=in_flight, answers=answers, checks=checks
    )
    dispatch = RemoteDispatch(
        topics=topics,
        groups=groups,
        members=members,
        pool=pool,
        metrics=metrics,
        guards=guards,
        brokers=brokers,
        answers=answers,
        checks=checks,
    )
    renewals = Renewals(trio.current_time, clock)
    held = RenewedHandles(brokers.change, renewals, clock)

    def peer_closed(peer: object) -> None:
        if isinstance(peer, GrpcClient):
            members.client_closed(peer)

    def plain() -> Mapping[str, FastPath]:
        from rocketwire.server.remote_calls import forwarding  # noqa: PLC0415 - protobuf comes along

        return forwarding.plain_calls(
            lambda: forwarding.ForwardedCalls(
                topics=topics,
                pool=pool,
                is_plain=lambda: dispatch.plain,
                note_answered=answers.note_answered,
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
    call_keys, sent_keys = keys or LiveGroup(GrpcKeys()), send_keys or LiveGroup(SendKeys())
    return GrpcServer(
        GrpcParts(
            clock=clock,
            groups=groups,
            held=lambda: held,
            tasks=(held.run, pulls.run),
            keys=call_keys,
            plain=plain,
            renewals=renewals,
            send_keys=sent_keys,
            topics=topics,
            turns=turns,
        ),
        dispatch,
        peer_closed=peer_closed,
        connection_closed=lambda _: None,
        guarded=bool(guards),
        accounts=accounts,
        kernel_guarded=lambda: True,
        in_flight=in_flight,
        works=works,
    )
