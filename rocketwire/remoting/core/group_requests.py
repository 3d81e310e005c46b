"""The requests of a member of a consumer group to one broker, and which queues are the member's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.remoting.core.steps import Operation, RemoteServer
from rocketwire.remoting.messages import Queue
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import (
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.client import GetConsumerListByGroupRequestHeader, UnregisterClientRequestHeader

_FINE = (ResponseCode.SUCCESS,)


class BrokerClient(Protocol):
    """The sender of requests: a client of the library, or a server on behalf of its clients."""

    @property
    def client_id(self) -> str:
        """The name at brokers; no other client has it."""

    def ask(
        self, peer: RemoteServer, request: ClientRequest, fine: tuple[int, ...] = _FINE, seconds: float | None = None
    ) -> Operation[Response]:
        """The answer to a request, whose code is in `fine`."""

    def broker_of(self, queue: Queue) -> Operation[RemoteServer]:
        """The broker of a queue."""


def send_heartbeat(client: BrokerClient, peer: RemoteServer, data: HeartbeatData) -> Operation[None]:
    """Be a member, with these subscriptions."""
    yield from client.ask(peer, ClientRequest(RequestCode.HEART_BEAT, None, encode_body(data)))


def leave_group(client: BrokerClient, peer: RemoteServer, group: str) -> Operation[None]:
    """Be no member any more."""
    fields = UnregisterClientRequestHeader(client_id=client.client_id, consumer_group=group)
    yield from client.ask(peer, ClientRequest(RequestCode.UNREGISTER_CLIENT, fields))


def consumer_ids(client: BrokerClient, peer: RemoteServer, group: str) -> Operation[tuple[str, ...]]:
    """The client ids of a group's members."""
    fields = GetConsumerListByGroupRequestHeader(consumer_group=group)
    answer = yield from client.ask(peer, ClientRequest(RequestCode.GET_CONSUMER_LIST_BY_GROUP, fields))
    return decode_body(GetConsumerListByGroupResponseBody, answer.body).consumer_id_list


def lock_queues(client: BrokerClient, peer: RemoteServer, group: str, queues: Iterable[Queue]) -> Operation[set[Queue]]:
    """Lock queues for this client, or keep their locks; returns those that are locked."""
    body = LockBatchRequestBody(client_id=client.client_id, consumer_group=group, mq_set=_written(queues))
    answer = yield from client.ask(peer, ClientRequest(RequestCode.LOCK_BATCH_MQ, None, encode_body(body)))
    locked = decode_body(LockBatchResponseBody, answer.body).lock_ok_mq_set
    return {Queue(each.topic, each.broker_name, each.queue_id) for each in locked}


def unlock_queues(client: BrokerClient, peer: RemoteServer, group: str, queues: Iterable[Queue]) -> Operation[None]:
    """Release locks."""
    body = UnlockBatchRequestBody(client_id=client.client_id, consumer_group=group, mq_set=_written(queues))
    yield from client.ask(peer, ClientRequest(RequestCode.UNLOCK_BATCH_MQ, None, encode_body(body)))


def _written(queues: Iterable[Queue]) -> tuple[MessageQueue, ...]:
    return tuple(MessageQueue(topic=each.topic, broker_name=each.broker, queue_id=each.queue_id) for each in queues)


def allocate_queues(own: str, members: Collection[str], queues: Sequence[Queue]) -> list[Queue]:
    """The queues of one member by the strategy that Java's clients use: equal parts of consecutive queues.

    Args:
        own: The member's client id.
        members: The client ids of all members, in any order.
        queues: All queues of a topic, sorted.
    """
    ordered = sorted(set(members), key=_java_order)
    if own not in ordered:
        return []
    number = ordered.index(own)
    least, rest = divmod(len(queues), len(ordered))
    start = number * least + min(number, rest)
    return list(queues[start : start + least + (number < rest)])


def _java_order(text: str) -> bytes:
    """Java compares texts by their UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")
