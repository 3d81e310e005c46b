"""Answers to sends, written fast, against the general encoder."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.frame import decode_frame, encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.headers import decode_ext, encode_ext
from rocketwire.wire.headers.send import SendMessageResponseHeader
from rocketwire.wire.send_reply_frames import SendReplyFrames
from tests.wire import golden

int32 = st.integers(-(2**31), 2**31 - 1)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(
    st.integers(0, 12),
    int32,
    st.text("0123456789ABCDEF,", min_size=1),
    st.integers(0, 1024),
    st.integers(0, 2**63 - 1),
    text,
    st.none() | st.text("ABCabc019-_=", min_size=1),
    st.none() | text,
)
def test_answers_decode_to_what_they_say(
    code: int,
    opaque: int,
    message_id: str,
    queue_id: int,
    offset: int,
    region: str,
    handle: str | None,
    transaction: str | None,
) -> None:
    answers = SendReplyFrames(region=region, trace_on=True, version=407)
    if transaction is not None:
        handle = None
    frame = decode_frame(
        answers.encode(
            code,
            opaque,
            message_id.encode(),
            queue_id,
            offset,
            recall_handle=None if handle is None else handle.encode(),
            transaction_id=transaction,
        )
    )
    header = frame.header
    assert (header.code, header.opaque, header.flag, header.version, header.remark) == (code, opaque, 1, 407, None)
    assert header.ext is not None
    assert decode_ext(SendMessageResponseHeader, header.ext) == SendMessageResponseHeader(
        msg_id=message_id, queue_id=queue_id, queue_offset=offset, transaction_id=transaction, recall_handle=handle
    )
    assert (header.ext["MSG_REGION"], header.ext["TRACE_ON"]) == (region, "true")


@given(int32, text, st.booleans())
def test_refusals_in_parts(opaque: int, remark: str, trace: bool) -> None:
    answers = SendReplyFrames(region="r", trace_on=trace, version=407)
    ext = {"TRACE_ON": json.dumps(trace), "MSG_REGION": "r"}
    header = Header(code=215, opaque=opaque, flag=1, version=407, remark=remark, ext=ext)
    (json_before, json_behind), (before, behind) = answers.refusal_parts(215, remark)
    written = json_before + b"%d" % opaque + json_behind
    assert json.loads(written) == json.loads(encode_frame(header, b"", 0)[8:])
    assert before + opaque.to_bytes(4, "big", signed=True) + behind == encode_frame(header, b"", 1)[8:]


def binary(code: int, opaque: int, message_id: str, queue_id: int, offset: int, region: str = "r") -> bytes:
    """As the handler of sends answers."""
    fields = SendMessageResponseHeader(msg_id=message_id, queue_id=queue_id, queue_offset=offset)
    ext = {**encode_ext(fields), "TRACE_ON": "true", "MSG_REGION": region}
    return encode_frame(Header(code=code, opaque=opaque, flag=1, version=407, ext=ext), b"", 1)


@given(st.integers(0, 32767), st.lists(st.tuples(int32, text, st.booleans())))
def test_answers_get_another_code(code: int, each: list[tuple[int, str, bool]]) -> None:
    answers = SendReplyFrames(region="r", trace_on=True, version=407)

    def written(code: int) -> bytes:
        return b"".join(
            binary(code, opaque, message_id, 3, opaque)
            if is_binary
            else answers.encode(code, opaque, message_id.encode(), 3, opaque)
            for opaque, message_id, is_binary in each
        )

    assert answers.with_code(code, written(0)) == written(code)


@given(int32, text, text)
def test_the_parts_of_a_binary_answer_stand_between_its_numbers(opaque: int, message_id: str, region: str) -> None:
    parts = SendReplyFrames(region=region, trace_on=True, version=407).binary_parts
    texts = (message_id.encode(), b"3", b"4")
    fields = (
        b"".join(part + len(text).to_bytes(4) + text for part, text in zip(parts[2:5], texts, strict=True)) + parts[5]
    )
    header = b"\0\0" + parts[0] + opaque.to_bytes(4, signed=True) + parts[1] + len(fields).to_bytes(4) + fields
    assert binary(0, opaque, message_id, 3, 4, region)[8:] == header


@given(text)
def test_the_parts_of_an_answer_stand_between_its_numbers(region: str) -> None:
    answers = SendReplyFrames(region=region, trace_on=False, version=407)
    values = (b"0", b"3", b"ID", b"4", b"5", b"")
    header = b"".join(part + value for part, value in zip(answers.parts, values, strict=True))
    assert answers.encode(0, 5, b"ID", 3, 4)[8:] == header


def test_an_answer_has_the_bytes_of_apaches() -> None:
    answers = SendReplyFrames(region="DefaultRegion", trace_on=True, version=407)
    for _, frame, row in golden.frames(golden.Capture("4.9.7", "send_sync")):
        header = row["header"]
        if row["kind"] == "response" and row.get("requestCode") == 310 and row["code"] == 0:
            ext = header["extFields"]
            ours = answers.encode(
                0, header["opaque"], ext["msgId"].encode(), int(ext["queueId"]), int(ext["queueOffset"])
            )
            assert ours == frame
            return
    raise AssertionError("no answer to a send in the capture")
