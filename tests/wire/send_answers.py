"""Answers to sends, put together as the kernel does it."""

from __future__ import annotations

from rocketwire.wire.frame import FRAME_PREFIX, encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.send_reply_frames import SendReplyFrames

_BEFORE_ID = b',"msgId":"'


def json_answer(
    answers: SendReplyFrames,
    opaque: int,
    ids: bytes,
    queue_id: int,
    offset: int,
    *,
    code: int = 0,
    recall_handle: bytes | None = None,
) -> bytes:
    """The frame that answers a stored send; `ids` are its messages', `offset` the first one's in the queue."""
    values = (b"%d" % code, b"%d" % queue_id, ids, b"%d" % offset, b"%d" % opaque, b"")
    header = b"".join(part + value for part, value in zip(answers.parts, values, strict=True))
    if recall_handle is not None:
        before, _, behind = header.rpartition(_BEFORE_ID)
        header = before + b',"recallHandle":"' + recall_handle + b'"' + _BEFORE_ID + behind
    return FRAME_PREFIX.pack(len(header) + 4, len(header)) + header


def binary_answer(opaque: int, ids: str, queue_id: int, offset: int, handle: str | None = None) -> bytes:
    """As `json_answer`, in ROCKETMQ, of a broker of the region R that traces."""
    ext = {"msgId": ids, "queueId": str(queue_id), "queueOffset": str(offset)}
    if handle is not None:
        ext["recallHandle"] = handle
    ext |= {"TRACE_ON": "true", "MSG_REGION": "R"}
    return encode_frame(Header(code=0, opaque=opaque, flag=1, version=407, ext=ext), b"", 1)
