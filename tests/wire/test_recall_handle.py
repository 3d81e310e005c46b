"""Recall handles, against those of a 5.5.0 broker and its errors for others."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import RecallHandleInvalid
from rocketwire.wire.recall_handle import RecallHandle, decode_recall_handle, encode_recall_handle
from tests.wire import golden

part = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" "), min_size=1, max_size=20)


def packed(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@given(part, part, st.integers(-1, 2**63 - 1), part)
def test_round_trip(topic: str, broker: str, time: int, key: str) -> None:
    written = encode_recall_handle(topic, broker, time, key).decode()
    assert written == packed(f"v1 {topic} {broker} {time} {key}")
    for text in (written, written.rstrip("=")):
        assert decode_recall_handle(text) == RecallHandle(topic, broker, time, key)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "%%%",
        "A",
        "AAAAA",
        "djE=",
        "dj==",
        "AAA==",
        packed("v2 T broker-a 1 X"),
        packed("v1 T broker-a 1"),
        packed("v1 T broker-a 1 "),
        packed("v1 T b 1 X") + "=",
        "djEgVCBiIDEgWD8/Pz4+",  # the other alphabet
    ],
)
def test_what_is_no_handle(text: str) -> None:
    with pytest.raises(RecallHandleInvalid, match=r"^recall handle is invalid$"):
        decode_recall_handle(text)


def test_more_parts_and_odd_times() -> None:
    assert decode_recall_handle(packed("v1 T b +5 X Y")) == ("T", "b", 5, "X")
    for time in ("soon", "", "1.5", "1_0", "٣"):
        assert decode_recall_handle(packed(f"v1 T b {time} X")).time == -1


def test_a_handle_of_5_5_0() -> None:
    requested = 0
    for _, _, row in golden.frames(golden.Capture("5.5.0", "timer_recall")):
        if row["kind"] == "request" and row["code"] == 370:
            text = row["header"]["extFields"]["recallHandle"]
            handle = decode_recall_handle(text)
            assert handle == ("W_Timer", "broker-a", 1795253436001, "C00002024F414E0E2F2A690949D0004E")
            assert encode_recall_handle(*handle) == text.encode()
            requested += 1
    assert requested == 1
