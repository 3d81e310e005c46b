"""AckMessage calls as the kernel reads them: what `acknowledging` does, without reading each delivery.

Calls with an invalid handle are not among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rocketwire import native
from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.request import Reply
from rocketwire.server.grpc.calls import Call, serve
from rocketwire.server.grpc.consuming.handles import RENEWED_MARK, DeliveryHandle, batch_request
from rocketwire.server.grpc.statuses import code_of_handle
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.grpc.answers import joint_status, make_status
from rocketwire.wire.grpc.checks import check_group, check_topic
from rocketwire.wire.grpc.receipt import ReceiptHandle, parse_receipt_handle
from rocketwire.wire.grpc.service_pb2 import AckMessageRequest, AckMessageResponse


class AckedCheckPoint(NamedTuple):
    """The deliveries of one check point, whose handles differ in `offsets` only."""

    kind: str
    start: int
    pop_time: int
    invisible_ms: int
    revive_queue: int
    queue: int
    offsets: list[int]

    def receipt(self, broker: str) -> ReceiptHandle:
        """The first of the handles, without the message's place in the commit log."""
        kind, start, pop_time, invisible_ms, revive_queue, queue, offsets = self
        return ReceiptHandle(start, pop_time, invisible_ms, revive_queue, kind, broker, queue, offsets[0])


class BatchedAcks(NamedTuple):
    """A call.

    Attributes:
        topic: That the messages were received from.
        group: The consumer group.
        broker: The broker that all handles name.
        until: When the first delivery is over, in ms since 1970.
        points: The check points.
        renewed: The handles of deliveries that are renewed.
        answer: The response if all are acknowledged.
        request: The call as it came.
    """

    topic: str
    group: str
    broker: str
    until: int
    points: list[AckedCheckPoint]
    renewed: list[str]
    answer: bytes
    request: bytes


def read_acks(payload: bytes) -> BatchedAcks | AckMessageRequest:
    """Read a call.

    Raises:
        DecodeError: it cannot be parsed.
    """
    found = None if native.kernel is None else native.kernel.read_acks(payload)
    if found is None:
        return AckMessageRequest.FromString(payload)
    topic, group, broker, until, points, renewed, answer = found
    return BatchedAcks(
        topic, group, broker, until, [AckedCheckPoint(*point) for point in points], renewed, answer, payload
    )


def acknowledge_all(call: Call, acks: BatchedAcks) -> Operation[Any]:
    """Acknowledge the messages of a call, those of each check point with one request.

    Returns the answer; None: messages are not in their queue, and each is to be acknowledged for itself.
    """
    topic, group, broker = acks.topic, acks.group, acks.broker
    check_topic(topic)
    check_group(group)
    receipts = [point.receipt(broker) for point in acks.points]
    replies = yield from serve(
        *(
            DeliveryHandle(receipt, renewed=False).ack_request(call, topic, group)
            if len(point.offsets) == 1
            else batch_request(call, topic, group, receipt, point.offsets)
            for receipt, point in zip(receipts, acks.points, strict=True)
        )
    )
    if all(reply.code == ResponseCode.SUCCESS for reply in replies):
        return acks.answer
    if any(
        reply.code == ResponseCode.NO_MESSAGE and len(point.offsets) > 1
        for reply, point in zip(replies, acks.points, strict=True)
    ):
        return None
    return answer_of_each(acks, replies)


def answer_of_each(acks: BatchedAcks, replies: Sequence[Reply]) -> AckMessageResponse:
    """The response with the outcome for each message: the broker's reply for its check point."""
    of_points = {_point(point.receipt(acks.broker)): reply for point, reply in zip(acks.points, replies, strict=True)}
    entries = AckMessageRequest.FromString(acks.request).entries
    of_entries = [
        of_points[_point(parse_receipt_handle(entry.receipt_handle.removesuffix(RENEWED_MARK)))] for entry in entries
    ]
    codes = [code_of_handle(reply) for reply in of_entries]
    response = AckMessageResponse(status=joint_status(codes))
    for entry, code, reply in zip(entries, codes, of_entries, strict=True):
        response.entries.add(
            message_id=entry.message_id,
            receipt_handle=entry.receipt_handle,
            status=make_status(code, reply.remark or ""),
        )
    return response


def _point(receipt: ReceiptHandle) -> ReceiptHandle:
    return receipt._replace(offset=0, physical_offset=0)
