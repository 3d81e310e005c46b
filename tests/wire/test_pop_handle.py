"""Handles of popped messages and the lists in answers, against what 5.5.0's own classes make of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import PopHandleInvalid
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.java import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
from rocketwire.wire.pop_handle import (
    KIND_NORMAL,
    KIND_RETRY,
    KIND_RETRY_V2,
    ORDER_REVIVE_QUEUE,
    OrderCount,
    PopHandle,
    PoppedQueue,
    decode_order_counts,
    decode_pop_handle,
    decode_popped_queues,
    encode_message_offset_info,
    encode_order_count_info,
    encode_start_offset_info,
    topic_kind,
)
from tests.wire import golden

LONG = st.integers(INT64_MIN, INT64_MAX)
INT = st.integers(INT32_MIN, INT32_MAX)
KIND = st.sampled_from([KIND_NORMAL, KIND_RETRY, KIND_RETRY_V2])
NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" "), min_size=1, max_size=20)
HANDLE = st.builds(PopHandle, LONG, LONG, LONG, INT, KIND, NAME, INT, LONG)


@given(HANDLE)
def test_round_trip(handle: PopHandle) -> None:
    assert decode_pop_handle(handle.text) == handle
    assert decode_pop_handle(handle.text + " 77") == handle
    assert handle.due == handle.pop_time + handle.invisible_time
    assert handle.in_order is (handle.revive_queue == ORDER_REVIVE_QUEUE)


@given(st.text(" +-0123456789ab", max_size=40) | st.text(max_size=20))
def test_any_text_is_a_handle_or_an_error(text: str) -> None:
    try:
        assert decode_pop_handle(text).kind is not None
    except PopHandleInvalid as error:
        assert str(error) == "the handle of the popped message is invalid"


@pytest.mark.parametrize(
    ("text", "handle"),
    [
        ("7 1 2 3 0 b 4 9", PopHandle(7, 1, 2, 3, "0", "b", 4, 9)),
        ("1 2 3 4 0 b", PopHandle(1, 2, 3, 4, "0", "b", -1, -1)),
        ("1 2 3 4 0 b 5", PopHandle(1, 2, 3, 4, "0", "b", 5, -1)),
        ("1 2 3 4 9 b 5 6", PopHandle(1, 2, 3, 4, "9", "b", 5, 6)),
        ("+1 2 3 4 0 b 5 6 ", PopHandle(1, 2, 3, 4, "0", "b", 5, 6)),
        ("1 2 3 4 0 b 5 6 7", PopHandle(1, 2, 3, 4, "0", "b", 5, 6)),
    ],
)
def test_handles_that_apache_takes(text: str, handle: PopHandle) -> None:
    assert decode_pop_handle(text) == handle


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "1 2 3",
        "1 2 3 4",
        " 1 2 3 4 0 b 5 6",
        "1  2 3 4 0 b",
        "1 2 3 2147483648 0 b",
        "9223372036854775808 2 3 4 0 b",
    ],
)
def test_handles_that_apache_refuses(text: str) -> None:
    with pytest.raises(PopHandleInvalid):
        decode_pop_handle(text)


@pytest.mark.parametrize(
    ("kind", "topic"), [(KIND_NORMAL, "t"), (KIND_RETRY, "%RETRY%g_t"), (KIND_RETRY_V2, "%RETRY%g+t")]
)
def test_topics_of_kinds(kind: str, topic: str) -> None:
    handle = PopHandle(7, 1, 2, 3, kind, "b", 4, 9)
    assert handle.topic("t", "g") == topic
    assert topic_kind(topic) == kind


@pytest.mark.parametrize("kind", [KIND_NORMAL, KIND_RETRY, KIND_RETRY_V2])
def test_lists_as_apache_writes_them(kind: str) -> None:
    queues = [PoppedQueue(kind, 2, 7, [7, 9]), PoppedQueue(kind, 3, 9, [9])]
    assert encode_start_offset_info(queues) == f"{kind} 2 7;{kind} 3 9"
    assert encode_message_offset_info(queues) == f"{kind} 2 7,9;{kind} 3 9"
    assert decode_popped_queues(encode_start_offset_info(queues), encode_message_offset_info(queues)) == queues
    counts = [OrderCount(kind, 2, None, 4), OrderCount(kind, 2, 7, 3)]
    assert encode_order_count_info(counts) == f"{kind} 2 4;{kind} qo2%7 3"
    assert decode_order_counts(encode_order_count_info(counts)) == counts
    assert decode_popped_queues("", "") == []


@given(
    st.lists(
        st.builds(PoppedQueue, KIND, INT, LONG, st.lists(LONG, min_size=1, max_size=5)), unique_by=lambda each: each[:2]
    )
)
def test_lists_round_trip(queues: list[PoppedQueue]) -> None:
    assert decode_popped_queues(encode_start_offset_info(queues), encode_message_offset_info(queues)) == queues


@given(st.lists(st.builds(OrderCount, KIND, INT, st.none() | LONG, INT)))
def test_order_counts_round_trip(counts: list[OrderCount]) -> None:
    assert decode_order_counts(encode_order_count_info(counts)) == counts


@pytest.mark.parametrize(
    ("starts", "offsets"),
    [("0 1", "0 1 2"), ("0 1 2", ""), ("", "0 1 2"), ("0 1 2", "0 1 x"), ("0 1 2;", "0 1 2"), ("0 1 2", "0 1 ")],
)
def test_lists_that_are_none(starts: str, offsets: str) -> None:
    with pytest.raises(PopHandleInvalid):
        decode_popped_queues(starts, offsets)


def test_captured_answers_and_handles() -> None:
    answers = {}
    requested = 0
    for frame in golden.frames(golden.Capture("5.5.0", "pop_consume")):
        row = frame.row
        ext = row["header"].get("extFields", {})
        if row.get("requestCode") == RequestCode.POP_MESSAGE:
            queues = decode_popped_queues(ext["startOffsetInfo"], ext["msgOffsetInfo"])
            assert encode_start_offset_info(queues) == ext["startOffsetInfo"]
            assert encode_message_offset_info(queues) == ext["msgOffsetInfo"]
            for each in queues:
                for offset in each.offsets:
                    place = (int(ext["popTime"]), each.queue_id, offset)
                    answers[place] = PopHandle(
                        each.start_offset, place[0], int(ext["invisibleTime"]), int(ext["reviveQid"]), each.kind,
                        "broker-a", each.queue_id, offset,
                    )  # fmt: skip
        if row["code"] == RequestCode.ACK_MESSAGE:
            handle = decode_pop_handle(ext["extraInfo"])
            assert handle.text == ext["extraInfo"]
            assert answers.get((handle.pop_time, handle.queue_id, handle.offset), handle) == handle
            requested += 1
    assert requested > 3
