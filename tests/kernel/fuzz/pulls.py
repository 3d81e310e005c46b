"""What the kernel reads of the headers of pulls and offset updates, held against Python's decoder.

The queue is empty, and ends where the pull begins: so a pull that may wait does, and what it waits with is seen.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from rocketwire import _kernel as kernel
from rocketwire.native import LogTail, QueueTail
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import FLAG_ONEWAY, MAX_FRAME_LENGTH, RequestCode
from rocketwire.wire.frame import FRAME_PREFIX, encode_frame
from rocketwire.wire.header import Header, decode_header, encode_header_around_opaque
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.offset import UpdateConsumerOffsetRequestHeader
from rocketwire.wire.headers.pull import PullMessageRequestHeader
from tests.kernel.fuzz.sends import Read

_ACCOUNT: Final = "account"
_SESSION: Final = "session"
_COMMITS, _WAITS, _OWN_SUBSCRIPTION = 1, 2, 4
_DONE: Final = Header(code=0, opaque=0, flag=1, version=407, ext={})
_PARTS: Final = ((b"",) * 5,) * 2
"""Those of answers to pulls in each serialisation; none is answered here."""
_TEXTS: Final = (_PARTS, _PARTS, tuple(encode_header_around_opaque(_DONE, kind) for kind in (0, 1)))


def pulls(data: bytes) -> Read:
    """A header, whose serialisation the first byte is."""
    kind, text = int(data[:1] == b"\1"), data[1:]
    queue = QueueTail()
    queue.end = _offset_of(text, kind)
    planned: list[tuple[Any, ...]] = []
    requested: list[tuple[Any, ...]] = []
    committed: list[tuple[Any, ...]] = []
    held: list[tuple[Any, ...]] = []

    def plan(*fields: Any) -> Any:
        planned.append(fields)
        return queue, None, None, 1, 0, 1, 1, 1, 1, _ACCOUNT

    def plan_offset(*names: str) -> bool:
        requested.append(names)
        return True

    path = kernel.Pulls(
        LogTail(),
        plan=plan,
        plan_offset=plan_offset,
        commit=lambda *offset: committed.append(offset),
        hold=lambda *pull: held.append(pull),
        texts=_TEXTS,
        max_frame=MAX_FRAME_LENGTH,
    )
    frame = FRAME_PREFIX.pack(4 + len(text), kind << 24 | len(text)) + text
    tight: Any = (ctypes.c_ubyte * len(frame)).from_buffer_copy(frame)  # without a byte behind it that may be read
    answers, taken = path.serve(_SESSION, tight, 0)
    if not planned and not requested:
        assert (answers, taken, committed, held) == (b"", 0, [], [])
        return Read(requested=False, taken=False)
    header = decode_header(text, kind)
    assert not header.is_response
    if planned:
        _check_pull(header, kind, planned, held, committed, taken=taken > 0)
        assert answers == b""
    else:
        fields = decode_ext(UpdateConsumerOffsetRequestHeader, header.ext)
        assert header.code == RequestCode.UPDATE_CONSUMER_OFFSET
        assert requested == [(fields.consumer_group, fields.topic)]
        assert committed == [(*requested[0], fields.queue_id, fields.commit_offset)]
        done = b"" if header.flag & FLAG_ONEWAY else encode_frame(_done(header.opaque), b"", kind)
        assert (answers, taken) == (done, len(frame))
    return Read(requested=True, taken=taken > 0)


def _offset_of(text: bytes, kind: int) -> int:
    """From where on a pull wants messages; 0 if it is none."""
    try:
        return decode_ext(PullMessageRequestHeader, decode_header(text, kind).ext).queue_offset
    except WireError:
        return 0


def _check_pull(
    header: Header, kind: int, planned: list[Any], held: list[Any], committed: list[Any], *, taken: bool
) -> None:
    assert header.code in {RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE}
    fields = decode_ext(PullMessageRequestHeader, header.ext)
    version = 0 if fields.sys_flag & _OWN_SUBSCRIPTION else fields.sub_version
    key = fields.consumer_group, fields.topic, fields.queue_id
    wanted = fields.subscription, fields.expression_type, fields.max_msg_nums, fields.max_msg_bytes
    assert planned == [(*key, fields.sys_flag, version, *wanted)]
    assert taken is (bool(fields.sys_flag & _WAITS) and fields.queue_offset > 0)
    times = fields.queue_offset, fields.suspend_timeout_millis
    assert held == ([(_SESSION, _ACCOUNT, *times, header.code, header.opaque, kind)] if taken else [])
    assert committed == ([(*key, fields.commit_offset)] if taken and fields.sys_flag & _COMMITS else [])


def _done(opaque: int) -> Header:
    return Header(code=0, opaque=opaque, flag=1, version=407, ext={})
