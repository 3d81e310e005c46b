"""Records of the revive topic, against those of a 5.5.0 broker and what its classes write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import PopRecordInvalid
from rocketwire.wire.facts.properties import TAGS, UNIQ_KEY
from rocketwire.wire.java import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
from rocketwire.wire.message import decode_record
from rocketwire.wire.pop_records import (
    ACK_TAG,
    BATCH_ACK_TAG,
    CHECK_POINT_TAG,
    Ack,
    CheckPoint,
    CheckPointKey,
    batch_ack,
    decode_ack,
    decode_check_point,
)
from rocketwire.wire.properties import decode_stored_properties
from tests.wire import golden

LONG = st.integers(INT64_MIN, INT64_MAX)
INT = st.integers(INT32_MIN, INT32_MAX)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
POINT = st.builds(
    CheckPoint,
    topic=TEXT,
    group=TEXT,
    queue_id=INT,
    start_offset=LONG,
    offset_differences=st.lists(INT, min_size=32, max_size=32).map(tuple),
    pop_time=LONG,
    invisible_time=LONG,
    broker=TEXT | st.none(),
    count=st.integers(0, 32),
    bit_map=INT,
    revive_offset=LONG,
    re_put_times=TEXT | st.none(),
    suspend=st.booleans(),
    renewer=TEXT | st.none(),
)
ACK = st.builds(
    Ack,
    topic=TEXT,
    group=TEXT,
    queue_id=INT,
    start_offset=LONG,
    pop_time=LONG,
    broker=TEXT | st.none(),
    offset=LONG,
    offsets=st.none() | st.lists(LONG, max_size=5).map(tuple),
)
POINT_OF_APACHE = CheckPoint(
    topic="t", group="g", queue_id=2, start_offset=7, offset_differences=(0, 2, 5), pop_time=1795251955395,
    invisible_time=10000, broker='b"中</', count=3,
)  # fmt: skip
ACK_OF_APACHE = Ack(topic="t", group="g", queue_id=2, start_offset=7, pop_time=1795251955395, broker="b", offset=9)


@given(POINT)
def test_check_points_round_trip(point: CheckPoint) -> None:
    assert decode_check_point(point.body()) == point
    assert point.offsets == [point.start_offset + each for each in (point.offset_differences or ())[: point.count]]


@given(ACK)
def test_acks_round_trip(ack: Ack) -> None:
    assert decode_ack(ack.body()) == ack


@given(st.binary(max_size=40) | st.text('{}":,[]tcdn0123456789', max_size=40).map(str.encode))
def test_any_bytes_are_a_record_or_an_error(body: bytes) -> None:
    for decode in (decode_check_point, decode_ack):
        try:
            decode(body)
        except PopRecordInvalid as error:
            assert str(error)


def test_check_points_as_apache_writes_them() -> None:
    assert POINT_OF_APACHE.body().decode() == (
        '{"bm":0,"bn":"b\\"中</","c":"g","d":[0,2,5],"it":10000,"n":3,"pt":1795251955395,"q":2,'
        '"reviveTime":1795251965395,"ro":0,"so":7,"sp":false,"t":"t"}'
    )
    assert POINT_OF_APACHE.unique_key == 't@2@7@g@1795251955395@b"中</@ck'
    assert POINT_OF_APACHE.offsets == [7, 9, 12]
    again = decode_check_point(POINT_OF_APACHE.body().replace(b'"so"', b'"rp":"3","so"').replace(b"false", b"true"))
    assert (again.re_put_times, again.suspend) == ("3", True)
    assert again.body().decode() == (
        '{"bm":0,"bn":"b\\"中</","c":"g","d":[0,2,5],"it":10000,"n":3,"pt":1795251955395,"q":2,'
        '"reviveTime":1795251965395,"ro":0,"rp":"3","so":7,"sp":true,"t":"t"}'
    )


def test_a_check_point_of_an_old_broker() -> None:
    point = decode_check_point(b'{"bm":1,"c":"g","it":1,"n":3,"pt":2,"q":1,"ro":0,"so":7,"t":"t"}')
    assert point.offsets == [7, 8, 9]
    assert point.key("a") == CheckPointKey("t", "g", 1, 7, 2, "a")
    assert decode_check_point(point.body()) == point


def test_acks_as_apache_writes_them() -> None:
    assert ACK_OF_APACHE.body() == b'{"ao":9,"bn":"b","c":"g","pt":1795251955395,"q":2,"so":7,"t":"t"}'
    assert ACK_OF_APACHE.unique_key == "t@2@9@g@1795251955395@b@ack"
    assert (ACK_OF_APACHE.tag, ACK_OF_APACHE.acked_offsets) == (ACK_TAG, (9,))
    several = batch_ack(ACK_OF_APACHE, [7, 12])
    assert several.body() == b'{"ao":-1,"aol":[7,12],"bn":"b","c":"g","pt":1795251955395,"q":2,"so":7,"t":"t"}'
    assert several.unique_key == "t@2@-1@g@1795251955395@b@ack"
    assert (several.tag, several.acked_offsets) == (BATCH_ACK_TAG, (7, 12))
    assert several.key("x") == ACK_OF_APACHE.key("x") == CheckPointKey("t", "g", 2, 7, 1795251955395, "b")


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"t":"t","c":"g","n":33}', b'{"t":"t","c":"g","n":2,"d":[0]}', b'{"t":"t","c":"g","n":-1}'],
)
def test_check_points_that_are_none(body: bytes) -> None:
    with pytest.raises(PopRecordInvalid):
        decode_check_point(body)


def test_acknowledgements_that_are_none() -> None:
    with pytest.raises(PopRecordInvalid):
        decode_ack(b"[")


def test_the_records_of_a_broker() -> None:
    files = golden.store_files("5.5.0", "commitlog")
    seen = {CHECK_POINT_TAG: 0, ACK_TAG: 0}
    for row in golden.expected("5.5.0"):
        if row.get("tags") not in seen or row["topic"] != "rmq_sys_REVIVE_LOG_GoldenCluster":
            continue
        message = decode_record(files[row["file"]], row["physicalOffset"] - int(row["file"]))
        properties = decode_stored_properties(message.properties)
        tag = properties[TAGS]
        seen[tag] += 1
        record = decode_check_point(message.body) if tag == CHECK_POINT_TAG else decode_ack(message.body)
        assert record.body() == message.body
        assert record.unique_key == properties[UNIQ_KEY]
    assert min(seen.values()) > 5
