"""Sending: chooses a queue, sends, and sends again to another broker when that fails."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from rocketwire.remoting.core import outgoing
from rocketwire.remoting.core.client import ClientCore
from rocketwire.remoting.core.outgoing import EncodedMessages, UniqueIds
from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.remoting.core.steps import Operation, RemoteServer, SendOneway, Sleep
from rocketwire.remoting.errors import MessageInvalid, NoBroker, NoSuchTopic, NotReached, Refused, RemotingError
from rocketwire.remoting.messages import Message, Queue, SendResult, SendStatus
from rocketwire.remoting.requests import STORED, send_request, writable_queues
from rocketwire.wire.bodies.client import HeartbeatData, ProducerData
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.send import SendMessageResponseHeader
from rocketwire.wire.java import string_hash
from rocketwire.wire.names import AUTO_CREATE_TOPIC

log = logging.getLogger(__name__)

_AGAIN: Final = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.NO_PERMISSION,
        ResponseCode.FLOW_CONTROL,
    }
)
"""Refusals that another broker, or the same one a little later, may not repeat."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0


class ProducerCore:
    """The sends of one producer.

    Args:
        client: The client.
        retries: How often a send that failed is repeated.
        most: Bytes of the largest body.
    """

    def __init__(self, client: ClientCore, *, retries: int, most: int) -> None:
        self.client = client
        self._retries = retries
        self._most = most
        self._ids: UniqueIds | None = None
        self._next = int.from_bytes(client.runtime.entropy(2), "big")  # producers do not all begin at the same queue

    def heartbeat_data(self) -> HeartbeatData:
        """The heartbeat of the producer."""
        group = ProducerData(group_name=self.client.settings.group)
        return HeartbeatData(client_id=self.client.client_id, producer_data_set=(group,))

    def open(self) -> Operation[None]:
        """Reach a name server, so that a wrong address is an error at the start.

        Raises:
            NotReached, Refused: none answers, or it refuses.
        """
        try:
            yield from self.client.route(AUTO_CREATE_TOPIC)
        except NoSuchTopic:
            log.debug("topics are not created by sending to them")
        yield from self.client.heartbeat(self.heartbeat_data())
        self.client.runtime.start(self.client.heartbeats(self.heartbeat_data))

    def close(self) -> Operation[None]:
        """Leave the group."""
        yield from self.client.unregister(producer_group=self.client.settings.group)

    def send(self, message: Message, *, queue: Queue | None = None) -> Operation[SendResult]:
        """Send a message, to a queue if one is named, and wait until a broker has it.

        Raises:
            MessageInvalid: it cannot be sent as it is.
            NoSuchTopic: there is no such topic, and none is created.
            NotReached, Refused: no broker took it; the last broker's failure.
        """
        return (yield from self._send(outgoing.encode_message(message, self._unique_ids(), self._most), queue))

    def send_batch(self, messages: Sequence[Message], *, queue: Queue | None = None) -> Operation[SendResult]:
        """Send messages of one topic in one request: the broker stores all of them in one queue, in order.

        Raises:
            MessageInvalid: one cannot be sent, or not in a batch: messages with a delay, or more than
                `max_message_size` bytes.
            NoSuchTopic, NotReached, Refused: as with `send`.
        """
        return (yield from self._send(outgoing.encode_message_batch(messages, self._unique_ids(), self._most), queue))

    def send_oneway(self, message: Message, *, queue: Queue | None = None) -> Operation[None]:
        """Send a message without an answer: it may be lost without an error.

        Raises:
            MessageInvalid, NoSuchTopic, NotReached: as with `send`.
        """
        parcel = outgoing.encode_message(message, self._unique_ids(), self._most)
        queues = yield from self.queues(message.topic)
        chosen = self._choose(queues, parcel.order_key, queue, None)
        yield SendOneway(self.client.broker(chosen.broker), self._request(parcel, chosen))

    def queues(self, topic: str) -> Operation[list[Queue]]:
        """The queues of a topic that take messages, sorted.

        Raises:
            NoSuchTopic: there is no such topic, and none is created.
            NotReached, Refused: no name server answers, or it refuses.
        """
        try:
            route = yield from self.client.route(topic)
            return _writable(topic, route, is_model=False)
        except NoSuchTopic as error:
            # The broker creates the topic like this one with its first message, if that is allowed.
            try:
                model = yield from self.client.route(AUTO_CREATE_TOPIC)
            except NoSuchTopic:
                raise error from None
            return _writable(topic, model, is_model=True)

    def _unique_ids(self) -> UniqueIds:
        """Made late: the address in the ids is that of a connection."""
        if self._ids is None:
            around = self.client.runtime
            self._ids = UniqueIds(around.own_host(), around.process_id, around.entropy(4), around.wall)
        return self._ids

    def _send(self, parcel: EncodedMessages, queue: Queue | None) -> Operation[SendResult]:
        pause = _FIRST_PAUSE
        avoided: str | None = None
        for tries_left in reversed(range(self._retries + 1)):
            chosen: Queue | None = None
            try:
                queues = yield from self.queues(parcel.topic)
                chosen = self._choose(queues, parcel.order_key, queue, avoided)
                peer = self.client.broker(chosen.broker)
                answer = yield from self.client.ask(peer, self._request(parcel, chosen), STORED)
                return _result(parcel, chosen, answer, peer)
            except (NotReached, NoBroker, Refused) as error:
                if isinstance(error, Refused) and error.code not in _AGAIN:
                    raise
                self.client.expire_route(parcel.topic)
                if not tries_left:
                    raise
                log.info("sending to %s failed, trying again: %s", chosen or parcel.topic, error)
                avoided = None if chosen is None else chosen.broker
            yield Sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        raise AssertionError  # the last try returns or raises

    def _choose(self, queues: list[Queue], order_key: str | None, wanted: Queue | None, avoided: str | None) -> Queue:
        if wanted is not None:
            if wanted not in queues:
                raise MessageInvalid(f"{wanted}: there is no such queue that takes messages")
            return wanted
        if not queues:
            raise MessageInvalid("the topic has no queue that takes messages")
        if order_key is not None:
            return queues[abs(string_hash(order_key)) % len(queues)]  # as Java's SelectMessageQueueByHash does
        self._next += 1
        others = [each for each in queues if each.broker != avoided] or queues
        return others[self._next % len(others)]

    def _request(self, parcel: EncodedMessages, queue: Queue) -> ClientRequest:
        return send_request(
            parcel.topic,
            queue.queue_id,
            parcel.body,
            group=self.client.settings.group,
            born_timestamp=self.client.runtime.wall(),
            properties=parcel.properties,
            sys_flag=parcel.sys_flag,
        )


def _writable(topic: str, route: TopicRouteData, *, is_model: bool) -> list[Queue]:
    return [Queue(topic, broker, number) for broker, number in writable_queues(route, is_model=is_model)]


def _result(parcel: EncodedMessages, queue: Queue, answer: Response, peer: RemoteServer) -> SendResult:
    try:
        fields = decode_ext(SendMessageResponseHeader, answer.ext)
    except WireError as error:
        raise RemotingError(f"{peer}: the answer to a send is not as it should be: {error}") from error
    return SendResult(
        status=SendStatus(answer.code),
        message_ids=parcel.ids,
        offset_message_id=fields.msg_id,
        queue=Queue(parcel.topic, queue.broker, fields.queue_id),
        queue_offset=fields.queue_offset,
        recall_handle=fields.recall_handle,
    )
