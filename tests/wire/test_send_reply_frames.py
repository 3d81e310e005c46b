"""The parts of answers to sends, against the general encoder."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.frame import decode_frame, encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.send import SendMessageResponseHeader
from rocketwire.wire.send_reply_frames import SendReplyFrames
from tests.wire import golden
from tests.wire.send_answers import json_answer

int32 = st.integers(-(2**31), 2**31 - 1)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


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
            else json_answer(answers, opaque, message_id.encode(), 3, opaque, code=code)
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


@given(text.map(lambda region: region or "r"))
def test_the_parts_of_an_answer_stand_between_its_numbers(region: str) -> None:
    answers = SendReplyFrames(region=region, trace_on=True, version=407)
    by_json, by_binary = json_answer(answers, 5, b"ID", 3, 4), binary(0, 5, "ID", 3, 4, region)
    assert decode_frame(by_json).header == decode_frame(by_binary).header


def test_an_answer_has_the_bytes_of_apaches() -> None:
    answers = SendReplyFrames(region="DefaultRegion", trace_on=True, version=407)
    for _, frame, row in golden.frames(golden.Capture("4.9.7", "send_sync")):
        header = row["header"]
        if row["kind"] == "response" and row.get("requestCode") == 310 and row["code"] == 0:
            ext = header["extFields"]
            ours = json_answer(
                answers, header["opaque"], ext["msgId"].encode(), int(ext["queueId"]), int(ext["queueOffset"])
            )
            assert ours == frame
            return
    raise AssertionError("no answer to a send in the capture")
