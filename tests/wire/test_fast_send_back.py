"""The short way of code 36 reads and writes what the declared headers do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.codes import RequestCode
from rocketwire.wire.fast_done import DoneAnswers
from rocketwire.wire.fast_send_back import decode_send_back
from rocketwire.wire.fast_texts import OddTexts
from rocketwire.wire.header import Header, decode_header, encode_header
from rocketwire.wire.headers import decode_ext, encode_ext
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.java import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
from tests.wire import golden

int32 = st.integers(INT32_MIN, INT32_MAX)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CODE = RequestCode.CONSUMER_SEND_MSG_BACK

requests = st.builds(
    ConsumerSendMsgBackRequestHeader,
    offset=st.integers(INT64_MIN, INT64_MAX),
    group=text,
    delay_level=int32,
    origin_msg_id=st.none() | text,
    origin_topic=st.none() | text,
    unit_mode=st.booleans(),
    max_reconsume_times=st.none() | int32,
    bname=st.none() | text,
)


def check_equal(data: bytes) -> None:
    found = decode_send_back(memoryview(data))
    if OddTexts("unitMode")(data, true=True):
        assert found is None
        return
    assert found is not None
    header = decode_header(data, 0)
    assert (found.code, found.opaque, found.flag, found.version) == (
        header.code,
        header.opaque,
        header.flag,
        header.version,
    )
    assert found.fields == decode_ext(ConsumerSendMsgBackRequestHeader, header.ext)


@given(requests, int32, st.sampled_from([0, 2]), st.integers(0, 700))
def test_a_header_reads_as_the_general_decoder_reads_it(
    fields: ConsumerSendMsgBackRequestHeader, opaque: int, flag: int, version: int
) -> None:
    header = Header(code=CODE, opaque=opaque, flag=flag, version=version, ext=encode_ext(fields))
    check_equal(encode_header(header, 0))


def test_golden_headers_and_their_answers() -> None:
    """Those of 5.5.0 clients, too; only 4.9.7's answers are written here."""
    seen = dict.fromkeys(golden.VERSIONS, 0)
    for capture in golden.captures():
        frames = {(frame.row["conn"], frame.row["seq"]): frame for frame in golden.frames(capture)}
        for frame in frames.values():
            row: dict[str, Any] = frame.row
            if row["code"] != CODE or row["kind"] != "request" or row["serializer"] != "JSON":
                continue
            check_equal(frame.data[8 : 8 + row["headerLength"]])
            version = capture.version
            seen[version] += 1
            if version == "4.9.7":
                answer = DoneAnswers(version=407).encode(row["opaque"])
                assert answer == frames[row["conn"], row["pair"]].data
    assert all(seen.values())


@given(st.binary(max_size=80))
def test_other_bytes_are_left_to_the_general_decoder(junk: bytes) -> None:
    assert decode_send_back(memoryview(junk)) is None
    decode_send_back(memoryview(b'{"code":36,' + junk))


@pytest.mark.parametrize(
    "header",
    [
        b'{"code":36,"opaque":1}',
        b'{"code":36,"opaque":1,"extFields":{"group":"g","offset":"1"}}',
        b'{"code":36,"opaque":1,"extFields":{"group":"\xff"}}',
        b'{"code":36,"opaque":1,"extFields":{"group":"g","offset":"+1","delayLevel":"0"}}',
        b'{"code":37,"opaque":1,"extFields":{"group":"g","offset":"1","delayLevel":"0"}}',
        b'{"code":36,"opaque":1,"extFields":{"group":"g","offset":"1","delayLevel":"0"},"code":105}',
    ],
)
def test_other_headers_are_left_to_the_general_decoder(header: bytes) -> None:
    assert decode_send_back(memoryview(header)) is None
