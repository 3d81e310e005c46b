"""AckMessage calls for several deliveries as one request: acknowledgements of a check point make one record together.

Calls are read by the kernel, or by its twin here. Those with a delivery that is renewed, or with a handle that is not
good, are none of these: each of their entries becomes a request of its own.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from rocketwire import native
from rocketwire.server.grpc.calls import Asking, Call
from rocketwire.server.grpc.statuses import code_of_reply
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.pop import MOST_BITS, BatchAck, BatchAckMessageRequestBody, bit_set
from rocketwire.wire.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc.answers import joint_status, status_of
from rocketwire.wire.grpc.checks import check_group, check_topic
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.grpc.errors import CallInvalid
from rocketwire.wire.grpc.receipt import ReceiptHandle, parse_receipt_handle
from rocketwire.wire.grpc.service_pb2 import AckMessageRequest, AckMessageResponse

_LEAST: Final = 2
_MOST: Final = 128

CheckPoint: TypeAlias = tuple[str, int, int, int, int, int, list[int]]
"""The kind of the topic, start offset, pop time, invisible time, revive queue, queue, and the offsets of messages."""


class BatchedAcks(NamedTuple):
    """A call.

    Attributes:
        topic: That the messages were received from.
        group: The consumer group.
        broker: The broker that all handles name.
        until: When the first delivery is over, in ms since 1970.
        points: The check points.
        answer: The response if all are acknowledged.
        request: The call as it came.
    """

    topic: str
    group: str
    broker: str
    until: int
    points: list[CheckPoint]
    answer: bytes
    request: bytes

    def body(self) -> bytes:
        """The body of the request that acknowledges them."""
        acks = tuple(
            [
                BatchAck(
                    consumer_group=self.group,
                    topic=self.topic,
                    retry=kind,
                    start_offset=start,
                    queue_id=queue,
                    revive_queue_id=revive_queue,
                    pop_time=pop_time,
                    invisible_time=invisible_time,
                    bit_set=bit_set([offset - start for offset in offsets]),
                )
                for kind, start, pop_time, invisible_time, revive_queue, queue, offsets in self.points
            ]
        )
        return encode_body(BatchAckMessageRequestBody(broker_name=self.broker, acks=acks))


def read_acks(payload: bytes) -> BatchedAcks | AckMessageRequest:
    """Read a call.

    Raises:
        DecodeError: it cannot be parsed.
    """
    if native.kernel is not None:
        found = native.kernel.read_acks(payload)
        return AckMessageRequest.FromString(payload) if found is None else BatchedAcks(*found, request=payload)
    request = AckMessageRequest.FromString(payload)
    return batched(request, payload) or request


def batched(request: AckMessageRequest, payload: bytes) -> BatchedAcks | None:
    """A call as one request; None: its entries are acknowledged one by one."""
    if not _LEAST <= len(request.entries) <= _MOST:
        return None
    try:
        handles = [parse_receipt_handle(entry.receipt_handle) for entry in request.entries]
    except CallInvalid:
        return None
    broker = handles[0].broker
    if any(each.broker != broker or not 0 <= each.offset - each.start < MOST_BITS for each in handles):
        return None
    points: dict[tuple[str, int, int, int, int, int], list[int]] = {}
    for each in handles:
        points.setdefault(_point(each), []).append(each.offset)
    response = AckMessageResponse(status=status_of(Code.OK))
    for entry in request.entries:
        response.entries.add(
            message_id=entry.message_id, receipt_handle=entry.receipt_handle, status=status_of(Code.OK)
        )
    return BatchedAcks(
        request.topic.name,
        request.group.name,
        broker,
        min(each.visible_at for each in handles),
        [(*point, offsets) for point, offsets in points.items()],
        response.SerializeToString(),
        payload,
    )


def _point(handle: ReceiptHandle) -> tuple[str, int, int, int, int, int]:
    return handle.kind, handle.start, handle.pop_time, handle.invisible_ms, handle.revive_queue, handle.queue


def acknowledge_all(call: Call, acks: BatchedAcks) -> Asking:
    """Acknowledge the messages of a call; what the broker answers counts for all of them."""
    check_topic(acks.topic)
    check_group(acks.group)
    (reply,) = yield (call.request(RequestCode.BATCH_ACK_MESSAGE, None, acks.body()),)
    if reply.code == ResponseCode.SUCCESS:
        return acks.answer
    return _refused(acks, code_of_reply(reply), reply.remark or "")


def _refused(acks: BatchedAcks, code: Code, text: str) -> AckMessageResponse:
    response = AckMessageResponse(status=joint_status([code]))
    for entry in AckMessageRequest.FromString(acks.request).entries:
        response.entries.add(
            message_id=entry.message_id, receipt_handle=entry.receipt_handle, status=status_of(code, text)
        )
    return response
