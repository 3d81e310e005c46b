"""5.x clients as members of their groups at the brokers of a cluster.

A broker knows a member of a group by its connection, and sends requests over it: so each client has a separate
connection to each master, from its first heartbeat on, as a client of the remoting protocol has. A broker's request on
it is passed to the client's telemetry stream, and the answer back.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import Final

from rocketwire.remoting.core.session import ClientRequest, RequestReceived, Response
from rocketwire.server.grpc.clients import GrpcClient
from rocketwire.server.remote_calls.pop_emulation.service import PopEmulation
from rocketwire.server.remote_calls.topics import RemoteTopics
from rocketwire.server.transactions.check_permission import MayCheck, allow_every_producer, may_check
from rocketwire.server.upstream.broker_connection import BrokerConnection, OnAnswer
from rocketwire.server.upstream.connecting import RequestNotSent, UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import HeartbeatData
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.header import Header
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.online import ResetOffsetRequestHeader

log = logging.getLogger(__name__)

_SECONDS: Final = 5.0
_CLIENT_SECONDS: Final = 10.0
_BROKER: Final = "bname"


class RemoteMembers:
    """The connections of all clients.

    Args:
        topics: The topics and brokers of the cluster.
        pool: Makes connections.
        pulls: Carry out POP for brokers that have none: these notify members of new offsets (220).
        may_receive: Decides whether a producer may receive the messages of a topic: brokers know this server's account
            only.
    """

    def __init__(
        self,
        topics: RemoteTopics,
        pool: ConnectionPool,
        pulls: PopEmulation,
        may_receive: MayCheck = allow_every_producer,
    ) -> None:
        self._pulls = pulls
        self._may_receive = may_receive
        self._topics = topics
        self._pool = pool
        self._of_clients: dict[GrpcClient, dict[Address, BrokerConnection]] = {}

    def take_heartbeat(self, client: GrpcClient, header: Header, body: bytes, done: OnAnswer) -> None:
        """Send a client's heartbeat to all masters; `done` gets the first good answer, or the last bad one."""
        body = self._keep_own_topics(client, body)
        masters = list(self._topics.masters())
        if not masters:
            done(RequestNotSent("no broker is known"))
            return
        mine = self._of_clients.setdefault(client, {})
        gathered = _Gathered(len(masters), partial(self._beaten, client, done))
        for broker, address in masters:
            connection = mine.get(address)
            if connection is None or connection.closed.is_set():
                if not self._pool.start(self._dial, client, broker, address, header, body, gathered):
                    gathered.take(RequestNotSent(f"{address}: no connections are made any more"))
            else:
                _send(connection, header, {}, body, gathered.take)
        for address in mine.keys() - {known for _, known in masters}:
            mine.pop(address).close()

    def _keep_own_topics(self, client: GrpcClient, body: bytes) -> bytes:
        """A heartbeat without the topics whose half messages the client may not get in back-checks.

        A broker checks with one producer of the topic after the other, and drops the transaction in the end.
        """
        if self._may_receive is allow_every_producer:
            return body
        data = decode_body(HeartbeatData, body)
        heard = tuple([each for each in data.producer_data_set if self._may_receive(client, each.group_name)])
        if len(heard) == len(data.producer_data_set):
            return body
        return encode_body(replace(data, producer_data_set=heard))

    def _beaten(self, client: GrpcClient, done: OnAnswer, found: Response | UpstreamConnectionError) -> None:
        if client.closed:
            self.client_closed(client)
        done(found)
        if not client.admitted:  # it was refused
            self.client_closed(client)

    async def _dial(
        self, client: GrpcClient, broker: str, address: Address, header: Header, body: bytes, gathered: _Gathered
    ) -> None:
        try:
            connection = await self._pool.start_connecting(address, partial(self._on_request, client, broker))
        except UpstreamConnectionError as error:
            gathered.take(error)
            return
        mine = self._of_clients.get(client)
        if mine is None:  # it was closed meanwhile
            connection.close()
            gathered.take(RequestNotSent("the client is closed"))
            return
        other = mine.get(address)
        if other is not None and not other.closed.is_set():
            connection.close()
            connection = other
        mine[address] = connection
        _send(connection, header, {}, body, gathered.take)

    def leave(self, client: GrpcClient, header: Header, ext: dict[str, str], done: OnAnswer) -> None:
        """Notify the brokers that a client leaves."""
        pool = [each for each in self._of_clients.get(client, {}).values() if not each.closed.is_set()]
        if not pool:
            done(Response(ResponseCode.SUCCESS, None, {}, b""))
            return
        gathered = _Gathered(len(pool), done)
        for connection in pool:
            _send(connection, header, ext, b"", gathered.take)

    def client_closed(self, client: GrpcClient) -> None:
        """Close the connections of a client that is closed."""
        for connection in self._of_clients.pop(client, {}).values():
            connection.close()

    def _on_request(
        self, client: GrpcClient, broker: str, connection: BrokerConnection, request: RequestReceived
    ) -> None:
        """Take a broker's request to a client."""
        code, body, ext = request.code, request.body, {**request.ext, _BROKER: broker}
        if code == RequestCode.CHECK_TRANSACTION_STATE and not may_check(self._may_receive, client, body):
            return
        if code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET:
            self._reset(client, broker, request)
            return
        if request.oneway:
            client.push(code, ext, body)
            return

        def done(answer: Response | None) -> None:
            if answer is None:
                connection.answer(request, ResponseCode.SYSTEM_ERROR, "the client does not answer")
            else:
                connection.answer(request, answer.code, answer.remark, answer.body)

        client.call(code, ext, body, seconds=_CLIENT_SECONDS, done=done)

    def _reset(self, client: GrpcClient, broker: str, request: RequestReceived) -> None:
        """Continue at the offsets that a broker sends to a client, which stores none."""
        try:
            self._pulls.reset(client, broker, decode_ext(ResetOffsetRequestHeader, request.ext), request.body)
        except WireError as error:
            log.warning("a reset of %(broker)s cannot be read: %(reason)s", {"broker": broker, "reason": error})


class _Gathered:
    """The answers of several brokers: the first good one counts, or the last bad one."""

    def __init__(self, missing: int, done: OnAnswer) -> None:
        self._missing = missing
        self._done: OnAnswer | None = done

    def take(self, found: Response | UpstreamConnectionError) -> None:
        """Take an answer."""
        self._missing -= 1
        good = isinstance(found, Response) and found.code == ResponseCode.SUCCESS
        if self._done is not None and (good or not self._missing):
            done, self._done = self._done, None
            done(found)


def _send(connection: BrokerConnection, header: Header, ext: dict[str, str], body: bytes, done: OnAnswer) -> None:
    connection.send(ClientRequest(header.code, ext, body, header.language, header.version), seconds=_SECONDS, done=done)
    connection.flush()
