"""Receipt handles: the names of deliveries for clients, and the fields for them in the broker's requests.

A handle whose delivery the broker renews (`auto_renew`) ends with a mark. By when it is visible again follows from the
handle alone (`server.pop.renewals`): no table has to know it, and it survives a restart.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rocketwire.server.core.request import Request
from rocketwire.server.grpc.calls import Call
from rocketwire.server.grpc.clients import GrpcClient
from rocketwire.server.pop.renewals import MOST_MS, invisible_ms
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.pop import MAX_ACK_BITS, BatchAck, BatchAckMessageRequestBody, encode_bit_set
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.receipt import ReceiptHandle, parse_receipt_handle
from rocketwire.wire.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.pop_handle import topic_for_kind

RENEWED_MARK: Final = " R"
"""What the handle of a renewed delivery ends with."""
_DEAD: Final = -1
_MOST_HELD: Final = 100_000


class DeliveryHandle(NamedTuple):
    """A delivery.

    Attributes:
        receipt: The contents of the handle.
        renewed: Whether the server renews it.
    """

    receipt: ReceiptHandle
    renewed: bool

    @property
    def text(self) -> str:
        """The handle as clients get it."""
        return f"{self.receipt}{RENEWED_MARK}" if self.renewed else str(self.receipt)

    def current(self, now: int) -> ReceiptHandle:
        """The delivery as it stands now: of a renewed one the step that it is in.

        Raises:
            CallInvalid: it is over, the message is visible again (`INVALID_RECEIPT_HANDLE`).
        """
        receipt = self.receipt
        if now < receipt.visible_at:
            return receipt
        if self.renewed and now < receipt.pop_time + MOST_MS:
            return receipt._replace(invisible_ms=invisible_ms(receipt.pop_time, now))
        raise CallInvalid(Code.INVALID_RECEIPT_HANDLE, "receipt handle is expired")

    def ack_request(self, call: Call, topic: str, group: str) -> Request[Any]:
        """The request that acknowledges it."""
        receipt = self.receipt
        header = AckMessageRequestHeader(
            consumer_group=group,
            topic=topic_for_kind(receipt.kind, topic, group),
            queue_id=receipt.queue,
            extra_info=str(receipt),
            offset=receipt.offset,
        )
        return call.request(RequestCode.ACK_MESSAGE, header, broker=receipt.broker)

    def change_request(
        self, call: Call, topic: str, group: str, invisible_ms: int, *, suspend: bool = False
    ) -> Request[Any]:
        """The request that makes the message visible so many ms from now."""
        receipt = self.receipt
        header = change_header(receipt, topic, group, invisible_ms, suspend=suspend)
        return call.request(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header, broker=receipt.broker)

    def after_change(self, fields: ChangeInvisibleTimeResponseHeader) -> DeliveryHandle:
        """The handle of the delivery after its invisible time was changed."""
        receipt = self.receipt._replace(
            start=self.receipt.offset,
            pop_time=fields.pop_time,
            invisible_ms=fields.invisible_time,
            revive_queue=fields.revive_qid,
        )
        return DeliveryHandle(receipt, renewed=False)


def change_header(
    receipt: ReceiptHandle, topic: str, group: str, invisible_ms: int, *, suspend: bool = False
) -> ChangeInvisibleTimeRequestHeader:
    """What makes a message visible so many ms from now."""
    return ChangeInvisibleTimeRequestHeader(
        consumer_group=group,
        topic=topic_for_kind(receipt.kind, topic, group),
        queue_id=receipt.queue,
        extra_info=str(receipt),
        offset=receipt.offset,
        invisible_time=invisible_ms,
        suspend=suspend,
    )


def ack_requests(
    call: Call, topic: str, group: str, handles: Mapping[int, DeliveryHandle]
) -> Iterator[tuple[Sequence[int], Request[Any]]]:
    """The requests that acknowledge deliveries, each with the keys of those that it is about.

    The deliveries of one check point are one request, and one record: a client acknowledges most of what it received
    together.
    """
    points: dict[ReceiptHandle, list[int]] = {}
    for key, handle in handles.items():
        receipt = handle.receipt
        near = 0 <= receipt.offset - receipt.start < MAX_ACK_BITS
        points.setdefault(receipt._replace(offset=0, physical_offset=0) if near else receipt, []).append(key)
    for point, keys in points.items():
        if len(keys) == 1:
            yield keys, handles[keys[0]].ack_request(call, topic, group)
        else:
            yield keys, batch_request(call, topic, group, point, [handles[key].receipt.offset for key in keys])


def batch_request(call: Call, topic: str, group: str, point: ReceiptHandle, offsets: Iterable[int]) -> Request[Any]:
    """The request that acknowledges deliveries of the check point of a handle."""
    ack = BatchAck(
        consumer_group=group,
        topic=topic,
        retry=point.kind,
        start_offset=point.start,
        queue_id=point.queue,
        revive_queue_id=point.revive_queue,
        pop_time=point.pop_time,
        invisible_time=point.invisible_ms,
        bit_set=encode_bit_set([offset - point.start for offset in offsets]),
    )
    body = BatchAckMessageRequestBody(broker_name=point.broker, acks=(ack,))
    if call.connection.guarded:  # guards read bodies
        return call.request(RequestCode.BATCH_ACK_MESSAGE, None, encode_body(body), broker=point.broker)
    return call.request(RequestCode.BATCH_ACK_MESSAGE, body, broker=point.broker)


def read_handle(text: str, now: int) -> DeliveryHandle:
    """Read a handle that a client names, of a delivery that is not over.

    Raises:
        CallInvalid: it is none, or is expired (`INVALID_RECEIPT_HANDLE`).
    """
    renewed = text.endswith(RENEWED_MARK)
    handle = DeliveryHandle(parse_receipt_handle(text.removesuffix(RENEWED_MARK)), renewed)
    return DeliveryHandle(handle.current(now), renewed)


def dead_letter_request(call: Call, topic: str, group: str, receipt: ReceiptHandle, message_id: str) -> Request[Any]:
    """The request that stores a message among the dead letters of a group."""
    header = ConsumerSendMsgBackRequestHeader(
        offset=receipt.physical_offset,
        group=group,
        delay_level=_DEAD,
        origin_msg_id=message_id,
        origin_topic=topic,
        max_reconsume_times=0,
    )
    return call.request(RequestCode.CONSUMER_SEND_MSG_BACK, header, broker=receipt.broker)


class HeldDeliveries:
    """The deliveries that are renewed, by client: visible again at once when the client leaves.

    A bounded number: others are visible again when their time is up.
    """

    def __init__(self) -> None:
        self._of_clients: dict[GrpcClient, dict[str, tuple[str, str]]] = {}
        self._count = 0

    def read(self, text: str, now: int) -> DeliveryHandle:
        """Read a handle that a client names, as its delivery stands now.

        Raises:
            CallInvalid: as `read_handle`.
        """
        return read_handle(text, now)

    def begin_change(self, topic: str, group: str, text: str, now: int) -> DeliveryHandle:
        """Read a handle whose invisible time a client is about to change. A handle may be changed once.

        Here the broker knows which handles were changed.

        Raises:
            CallInvalid: as `read_handle`, or it was changed before.
        """
        del topic, group
        return self.read(text, now)

    def undo_change(self, topic: str, group: str, text: str) -> None:
        """Note that a change which began was refused: the handle is still good."""

    def add(self, client: GrpcClient, topic: str, group: str, texts: Iterable[str]) -> None:
        """Note deliveries to a client by their handles, unless it is closed."""
        if client.closed:
            return
        held = self._of_clients.setdefault(client, {})
        place = topic, group
        for text in texts:
            if self._count >= _MOST_HELD:
                return
            self._count += 1
            held[text] = place

    def of(self, client: GrpcClient) -> Collection[str]:
        """The handles of a client's deliveries."""
        return self._of_clients.get(client, _NONE).keys()

    def remove(self, client: GrpcClient, text: str) -> None:
        """Forget a delivery that is acknowledged, or postponed."""
        if self._of_clients.get(client, _NONE).pop(text, None) is not None:
            self._count -= 1

    def forget(self, client: GrpcClient) -> None:
        """Forget all that a client holds."""
        self._count -= len(self._of_clients.pop(client, _NONE))

    def take_out(self, client: GrpcClient, now: int) -> Iterator[tuple[str, str, DeliveryHandle]]:
        """All that a client holds, as it stands now, with topic and group, without what is over; it is forgotten."""
        held = self._of_clients.pop(client, _NONE)
        self._count -= len(held)
        return self._taken_out(client, held, now)

    def _taken_out(
        self, client: GrpcClient, held: Mapping[str, tuple[str, str]], now: int
    ) -> Iterator[tuple[str, str, DeliveryHandle]]:
        del client
        for text, (topic, group) in held.items():
            with contextlib.suppress(CallInvalid):
                yield topic, group, read_handle(text, now)


_NONE: Final[dict[str, tuple[str, str]]] = {}
