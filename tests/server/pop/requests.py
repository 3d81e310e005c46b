"""POP requests as the tests send them, and the parts of the answers that they check."""

from __future__ import annotations

from typing import Any, NamedTuple

from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.pop import BatchAck, BatchAckMessageRequestBody, encode_bit_set
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.properties import POP_CK
from rocketwire.wire.frame import Frame
from rocketwire.wire.headers import decode_ext, encode_ext
from rocketwire.wire.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    NotificationRequestHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from rocketwire.wire.message import MessageRecord
from rocketwire.wire.pop_handle import PopHandle, decode_pop_handle, decode_popped_queues, topic_kind
from rocketwire.wire.properties import decode_stored_properties
from tests.server.harness import Client, records, settle

BROKER = "broker-a"
INVISIBLE = 10_000


class Got(NamedTuple):
    """A popped message."""

    message: MessageRecord
    handle: PopHandle
    topic: str
    """Its topic."""
    group: str

    @property
    def body(self) -> bytes:
        return self.message.body


class Popped(NamedTuple):
    """The answer to a pop."""

    frame: Frame
    fields: PopMessageResponseHeader
    messages: list[Got]

    @property
    def bodies(self) -> list[bytes]:
        return [each.body for each in self.messages]


def pop_ext(topic: str, **changes: Any) -> dict[str, str]:
    """The header of a pop of a new group that does not wait."""
    values: dict[str, Any] = {
        "consumer_group": "G",
        "topic": topic,
        "queue_id": -1,
        "max_msg_nums": 32,
        "invisible_time": INVISIBLE,
        "poll_time": 0,
        "born_time": 0,
        "init_mode": 0,
        **changes,
    }
    return encode_ext(PopMessageRequestHeader(**values))


async def pop(client: Client, topic: str = "T", **changes: Any) -> Popped:
    """Pop without waiting."""
    return popped(await client.request(RequestCode.POP_MESSAGE, pop_ext(topic, **changes)), topic, **changes)


async def hold(client: Client, topic: str = "T", *, seconds: float = 15, **changes: Any) -> None:
    """Send a pop that may wait, and do not wait for its answer."""
    ext = pop_ext(topic, poll_time=int(seconds * 1000), **changes)
    await client.write(client.frame(RequestCode.POP_MESSAGE, ext))
    await settle()


def popped(frame: Frame, topic: str = "T", **changes: Any) -> Popped:
    """Read the answer to a pop, as the official client does."""
    fields = decode_ext(PopMessageResponseHeader, frame.header.ext)
    group = changes.get("consumer_group", "G")
    starts = {
        (each.kind, each.queue_id): each
        for each in decode_popped_queues(fields.start_offset_info or "", fields.msg_offset_info or "")
    }
    messages = []
    for message in records(frame.body):
        own = decode_stored_properties(message.properties).get(POP_CK)
        if own is not None:
            handle = decode_pop_handle(own)
        else:
            queue = starts[topic_kind(message.topic), message.queue_id]
            assert message.queue_offset in queue.offsets
            handle = PopHandle(
                queue.start_offset, fields.pop_time, fields.invisible_time, fields.revive_qid, queue.kind,
                BROKER, message.queue_id, message.queue_offset,
            )  # fmt: skip
        messages.append(Got(message, handle, handle.topic(topic, group), group))
    return Popped(frame, fields, messages)


def ack_ext(got: Got, **changes: Any) -> dict[str, str]:
    """The header of an acknowledgement."""
    values: dict[str, Any] = {
        "consumer_group": got.group,
        "topic": got.topic,
        "queue_id": got.handle.queue_id,
        "extra_info": got.handle.text,
        "offset": got.handle.offset,
        **changes,
    }
    return encode_ext(AckMessageRequestHeader(**values))


async def ack(client: Client, got: Got, **changes: Any) -> Frame:
    """Acknowledge a message."""
    return await client.request(RequestCode.ACK_MESSAGE, ack_ext(got, **changes))


def ack_body(*messages: Got, **changes: Any) -> bytes:
    """The body of an acknowledgement of messages of one check point."""
    handle, group = messages[0].handle, messages[0].group
    topic = "T"
    values: dict[str, Any] = {
        "consumer_group": group,
        "topic": topic,
        "retry": handle.kind,
        "start_offset": handle.start_offset,
        "queue_id": handle.queue_id,
        "revive_queue_id": handle.revive_queue,
        "pop_time": handle.pop_time,
        "invisible_time": handle.invisible_time,
        "bit_set": encode_bit_set(each.handle.offset - handle.start_offset for each in messages),
        **changes,
    }
    return encode_body(BatchAckMessageRequestBody(broker_name=BROKER, acks=(BatchAck(**values),)))


async def ack_all(client: Client, *messages: Got, **changes: Any) -> Frame:
    """Acknowledge messages of one check point."""
    return await client.request(RequestCode.BATCH_ACK_MESSAGE, body=ack_body(*messages, **changes))


async def change(client: Client, got: Got, invisible_time: int, **changes: Any) -> tuple[Frame, Got]:
    """Change a message's invisible time; the answer, and the message with its new handle."""
    values: dict[str, Any] = {
        "consumer_group": got.group,
        "topic": got.topic,
        "queue_id": got.handle.queue_id,
        "extra_info": got.handle.text,
        "offset": got.handle.offset,
        "invisible_time": invisible_time,
        **changes,
    }
    ext = encode_ext(ChangeInvisibleTimeRequestHeader(**values))
    frame = await client.request(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, ext)
    if frame.header.code:
        return frame, got
    fields = decode_ext(ChangeInvisibleTimeResponseHeader, frame.header.ext)
    handle = got.handle._replace(
        start_offset=got.handle.offset, pop_time=fields.pop_time, invisible_time=fields.invisible_time,
        revive_queue=fields.revive_qid,
    )  # fmt: skip
    return frame, got._replace(handle=handle)


def notification_ext(topic: str = "T", **changes: Any) -> dict[str, str]:
    """The header of a notification."""
    values: dict[str, Any] = {
        "consumer_group": "G", "topic": topic, "queue_id": -1, "poll_time": 0, "born_time": 0, **changes
    }  # fmt: skip
    return encode_ext(NotificationRequestHeader(**values))
