"""Requests to a broker on behalf of a group: membership, queue locks, offsets, pulls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeVar

from rocketwire.remoting.core import group_requests
from rocketwire.remoting.core.offsets import OffsetRequests
from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.remoting.core.steps import Operation, RemoteServer, request_response
from rocketwire.remoting.errors import RemotingError, refusal
from rocketwire.remoting.messages import Queue
from rocketwire.remoting.requests import PULLED, pull_header
from rocketwire.server.upstream.connecting import RequestNotSent, UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.operations import run_operation
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies.client import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    SubscriptionData,
)
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.pull import PullMessageResponseHeader

SUSPEND_MS: Final = 15_000
"""For how long a pull waits at the broker."""
SECONDS: Final = 5.0
"""For how long an answer is waited for otherwise."""
_MOST_A_PULL: Final = 32
T = TypeVar("T")


class SubscriptionFilter(NamedTuple):
    """What a group wants of a topic: the expression and its type."""

    text: str
    kind: str


class GroupRpc:
    """Sends requests of one group to one broker, under the proxy's client id, by the client library's operations.

    Every asynchronous method raises `UpstreamConnectionError` when the broker does not answer, or refuses.
    """

    def __init__(
        self, pool: ConnectionPool, address: Callable[[], Address | None], *, broker: str, group: str, client_id: str
    ) -> None:
        self.client_id = client_id
        self._pool = pool
        self._address = address
        self._broker = broker
        self._group = group
        self._offsets = OffsetRequests(self, group)

    def ask(
        self,
        peer: RemoteServer,
        request: ClientRequest,
        fine: tuple[int, ...] = (ResponseCode.SUCCESS,),
        seconds: float | None = None,
    ) -> Operation[Response]:
        """The answer to a request: see `group_requests.BrokerClient`."""
        answer = yield from request_response(peer, request, seconds or SECONDS)
        if answer.code not in fine:
            raise refusal(str(peer), answer.code, answer.remark)
        return answer

    def broker_of(self, _queue: Queue) -> Operation[RemoteServer]:
        """The broker."""
        yield from ()
        return self._peer()

    def _peer(self) -> RemoteServer:
        address = self._address()
        if address is None:
            raise RequestNotSent(f"no broker {self._broker} is known")
        return RemoteServer("broker", address)

    async def send_heartbeat(self, subscriptions: Iterable[tuple[str, SubscriptionFilter]], now: int) -> None:
        """Be a member of the group."""
        data = ConsumerData(
            group_name=self._group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=tuple(
                SubscriptionData(topic=topic, sub_string=wanted.text, expression_type=wanted.kind, sub_version=now)
                for topic, wanted in subscriptions
            ),
        )
        heartbeat = HeartbeatData(client_id=self.client_id, consumer_data_set=(data,))
        await self._run(lambda peer: group_requests.send_heartbeat(self, peer, heartbeat))

    async def leave(self) -> None:
        """Be no member any more."""
        await self._run(lambda peer: group_requests.leave_group(self, peer, self._group))

    async def members(self) -> tuple[str, ...]:
        """The client ids of the group."""
        return await self._run(lambda peer: group_requests.consumer_ids(self, peer, self._group))

    async def lock(self, queues: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Lock queues, or keep their locks; returns those that are locked."""
        wanted = [self._queue(*each) for each in queues]
        locked = await self._run(lambda peer: group_requests.lock_queues(self, peer, self._group, wanted))
        return {(each.topic, each.queue_id) for each in locked}

    async def unlock(self, queues: Iterable[tuple[str, int]]) -> None:
        """Release locks."""
        given_up = [self._queue(*each) for each in queues]
        await self._run(lambda peer: group_requests.unlock_queues(self, peer, self._group, given_up))

    def _queue(self, topic: str, queue_id: int) -> Queue:
        return Queue(topic, self._broker, queue_id)

    async def first_offset(self, topic: str, queue_id: int, *, retried: bool) -> int:
        """The offset where the group continues in a queue; a new group begins with the newest message, as with POP."""
        queue = self._queue(topic, queue_id)

        def begun(_: RemoteServer) -> Operation[int]:
            found = yield from self._offsets.committed(queue)
            if found is not None:
                return found
            offset = yield from self._offsets.first(queue)
            if not retried:
                offset = max(offset, (yield from self._offsets.end(queue)) - 1)
            yield from self._offsets.commit(queue, offset, wait=True)
            return offset

        return await self._run(begun)

    async def commit(self, topic: str, queue_id: int, offset: int) -> None:
        """Store the group's offset of a queue."""
        await self._run(lambda _: self._offsets.commit(self._queue(topic, queue_id), offset, wait=True))

    async def pull(self, topic: str, queue_id: int, offset: int, wanted: SubscriptionFilter) -> tuple[bytes, int]:
        """The records of a queue from an offset on, and the next offset; waits at the broker while there is none."""
        fields = pull_header(
            topic,
            queue_id,
            offset,
            most=_MOST_A_PULL,
            group=self._group,
            held_ms=SUSPEND_MS,
            expression=wanted.text,
            kind=wanted.kind,
        )
        request = ClientRequest(RequestCode.PULL_MESSAGE, fields)
        answer = await self._run(lambda peer: self.ask(peer, request, PULLED, SUSPEND_MS / 1000 + SECONDS))
        try:
            next_offset = decode_ext(PullMessageResponseHeader, answer.ext).next_begin_offset
        except WireError as error:
            raise UpstreamConnectionError(str(error)) from error
        return (bytes(answer.body) if answer.code == ResponseCode.SUCCESS else b""), next_offset

    async def _run(self, operation: Callable[[RemoteServer], Operation[T]]) -> T:
        try:
            return await run_operation(self._pool, operation(self._peer()))
        except (RemotingError, WireError) as error:
            cause = error.__cause__
            raise (
                cause if isinstance(cause, UpstreamConnectionError) else UpstreamConnectionError(str(error))
            ) from error
