"""A proxy's gRPC endpoint in this process, and clusters for it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import trio

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.long_tasks import LongTaskScheduler
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.dispatch.guard import RequestGuard
from rocketwire.server.net.admission.admission import Admission
from rocketwire.server.net.listener import Listener, bind
from rocketwire.server.remote_calls.front import remote_grpc_server
from rocketwire.server.transactions.check_permission import MayCheck, allow_every_producer
from rocketwire.server.upstream.broker_connection import BrokerConnection, OnAnswer
from rocketwire.server.upstream.cluster import UpstreamCluster
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import Clock, Server, account, run_inline, serving, settle, tls_gate
from tests.server.upstream.test_registration import NameServer

BROKERS = ("a", "b")
LATER_CODES = frozenset(
    {
        RequestCode.POP_MESSAGE,
        RequestCode.ACK_MESSAGE,
        RequestCode.BATCH_ACK_MESSAGE,
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
        RequestCode.GET_TOPIC_CONFIG,
    }
)


class Proxy(NamedTuple):
    """A gRPC endpoint that listens."""

    address: Address


class PoolWithoutPop(ConnectionPool):
    """Connections to brokers on which each request of 5.x gets the answer of a 4.9 broker."""

    def send(
        self, address: Address, request: ClientRequest, *, seconds: float, done: OnAnswer
    ) -> BrokerConnection | None:
        """Send a request, or refuse it."""
        if request.code in LATER_CODES:
            done(Response(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, "not supported", {}, b""))
            return None
        return super().send(address, request, seconds=seconds, done=done)

    async def send_request(self, address: Address, request: ClientRequest, **how: Any) -> Response:
        """As `send`."""
        if request.code in LATER_CODES:
            return Response(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, "not supported", {}, b"")
        return await super().send_request(address, request, **how)


@contextlib.asynccontextmanager
async def proxying(
    *name_servers: Address,
    clock: Clock,
    guards: tuple[RequestGuard, ...] = (),
    may_receive: MayCheck = allow_every_producer,
    pop: bool = True,
    ordered_groups: str = "",
) -> AsyncIterator[Proxy]:
    """A gRPC endpoint before the cluster of these name servers.

    Args:
        name_servers: Their addresses.
        clock: The time of handles.
        guards: Admit or refuse requests.
        may_receive: Says whether a producer may receive the messages of a topic.
        pop: Whether the brokers have POP.
        ordered_groups: The ordered groups, whatever brokers answer.
    """
    in_flight, metrics = account(), Metrics()
    pool = ConnectionPool() if pop else PoolWithoutPop()
    cluster = UpstreamCluster(name_servers, pool)
    endpoint = remote_grpc_server(
        cluster,
        pool,
        clock=clock,
        metrics=metrics,
        in_flight=in_flight,
        works=LongTaskScheduler(run_inline),
        guards=guards,
        may_receive=may_receive,
        upstream_keys=LiveGroup(UpstreamKeys(ordered_groups=ordered_groups)),
    )
    sock: socket.socket = bind("127.0.0.1", 0, option="test")
    listener = Listener(
        sock,
        FrameDispatcher((), metrics=metrics),
        lambda _: None,
        admission=Admission(in_flight),
        tls=tls_gate(in_flight),
        http2=endpoint,
    )
    async with trio.open_nursery() as nursery:
        for each in (pool, cluster, listener):
            nursery.start_soon(each.run)
        nursery.start_soon(endpoint.run, BackgroundBudget())
        await settle()
        try:
            yield Proxy(Address(host="127.0.0.1", port=listener.port))
        finally:
            nursery.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def cluster_of_two(tmp_path: Path) -> AsyncIterator[tuple[Address, dict[str, Server]]]:
    """A name server and two brokers, which have the topic T with two queues each."""
    name_server, clock = NameServer(tmp_path / "names"), Clock()

    def broker(name: str) -> contextlib.AbstractAsyncContextManager[Server]:
        names = (name_server.address,)
        return serving(tmp_path / name, clock=clock, name_server=None, name_servers=names, broker_name=name)

    async with name_server.running(), broker("a") as first, broker("b") as second:
        for each in (first, second):
            await each.broker().create_topic("T", 2)
        await settle()
        yield name_server.address, {"a": first, "b": second}
