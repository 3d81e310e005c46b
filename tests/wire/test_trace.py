from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import TraceInvalid
from rocketwire.wire.frame import decode_frame
from rocketwire.wire.trace import (
    ConsumeBeginTrace,
    ConsumeEndTrace,
    EndTransactionTrace,
    RecallTrace,
    SendTrace,
    Trace,
    decode_traces,
)
from tests.wire.golden import Capture, frames

ID = "C000020233844E0E2F2A690228950054"
PUB = f"Pub\x0111\x01DefaultRegion\x01pg\x01T\x01{ID}\x01null\x01\x01127.0.0.1:10911\x018\x0196\x010"
END = f"SubAfter\x01request\x01{ID}\x015\x01false\x01k"

numbers = st.integers(0, 1 << 62)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x01\x02"), min_size=1)
maybe = st.none() | texts.filter(lambda text: text != "null")


def written(*values: object) -> str:
    """A report as Java writes it, whatever its kind."""
    return "\x01".join("null" if each is None else str(each) for each in values)


sends = st.builds(
    SendTrace,
    time=numbers,
    region=maybe,
    group=maybe,
    topic=maybe,
    message_id=texts,
    tags=maybe,
    keys=maybe,
    store_host=maybe,
    body_length=numbers,
    cost=numbers,
    message_type=numbers,
    offset_message_id=maybe,
    success=st.booleans(),
    client_host=maybe,
)
begins = st.builds(
    ConsumeBeginTrace,
    time=numbers,
    region=maybe,
    group=maybe,
    request_id=texts,
    message_id=texts,
    retry_times=numbers,
    keys=maybe,
)
ends = st.builds(
    ConsumeEndTrace,
    request_id=texts,
    message_id=texts,
    cost=numbers,
    success=st.booleans(),
    keys=maybe,
    result=numbers,
    time=numbers,
    group=maybe,
)
transactions = st.builds(
    EndTransactionTrace,
    time=numbers,
    region=maybe,
    group=maybe,
    topic=maybe,
    message_id=texts,
    tags=maybe,
    keys=maybe,
    store_host=maybe,
    message_type=numbers,
    transaction_id=maybe,
    state=maybe,
    from_check=st.booleans(),
)
recalls = st.builds(
    RecallTrace, time=numbers, region=maybe, group=maybe, topic=maybe, message_id=texts, success=st.booleans()
)
WORDS = {
    SendTrace: "Pub",
    ConsumeBeginTrace: "SubBefore",
    ConsumeEndTrace: "SubAfter",
    EndTransactionTrace: "EndTransaction",
    RecallTrace: "Recall",
}


@given(st.lists(sends | begins | ends | transactions | recalls, max_size=4))
def test_every_report_is_read_as_it_was_written(reports: list[Trace]) -> None:
    # The fields of the classes stand in the order of the reports.
    body = "".join(written(WORDS[type(each)], *astuple(each)) + "\x02" for each in reports)
    assert decode_traces(body.encode()) == reports


def test_what_the_official_client_sent() -> None:
    bodies = [
        bytes(decode_frame(each.data).body)
        for each in frames(Capture("4.9.7", "trace"))
        if each.row["code"] == 310 and each.row["header"]["extFields"]["b"] == "RMQ_SYS_TRACE_TOPIC"
    ]
    sent, consumed = map(decode_traces, bodies)
    assert sent[0] == SendTrace(
        time=1795252949145,
        region="DefaultRegion",
        group="w_pg_trace",
        topic="W_Trace",
        message_id=ID,
        tags="T",
        keys="t1",
        store_host="127.0.0.1:31111",
        body_length=8,
        cost=96,
        message_type=0,
        offset_message_id="7F0000010000798700000000000050A9",
        success=True,
        client_host=None,
    )
    assert [type(each).__name__ for each in consumed] == ["ConsumeBeginTrace", "ConsumeEndTrace"] * 2
    assert consumed[2] == ConsumeBeginTrace(
        time=1795252949785,
        region=None,
        group="w_cg_trace",
        request_id="C000020233844E0E2F2A69022B19005A",
        message_id=ID,
        retry_times=0,
        keys="t1",
    )
    assert consumed[3] == ConsumeEndTrace(
        request_id="C000020233844E0E2F2A69022B19005A",
        message_id=ID,
        cost=1,
        success=True,
        keys="t1",
        result=0,
        time=1795252949786,
        group="w_cg_trace",
    )


@pytest.mark.parametrize(
    ("rest", "offset_message_id", "success", "client_host"),
    [
        ("\x01true", None, True, None),
        ("\x01OFFSETID\x01true", "OFFSETID", True, None),
        ("\x01OFFSETID\x01false\x01192.0.2.1", "OFFSETID", False, "192.0.2.1"),
    ],
)
def test_sends_of_all_versions(rest: str, offset_message_id: str | None, success: bool, client_host: str) -> None:
    (found,) = decode_traces((PUB + rest + "\x02").encode())
    assert isinstance(found, SendTrace)
    assert (found.tags, found.keys, found.message_id) == (None, None, ID)
    assert (found.offset_message_id, found.success, found.client_host) == (offset_message_id, success, client_host)


@pytest.mark.parametrize(
    ("rest", "reported"),
    [("", (None, None, None)), ("\x014", (4, None, None)), ("\x012\x0199\x01cg", (2, 99, "cg"))],
)
def test_ends_of_all_versions(rest: str, reported: tuple[int | None, int | None, str | None]) -> None:
    (found,) = decode_traces((END + rest + "\x02").encode())
    assert isinstance(found, ConsumeEndTrace)
    assert (found.cost, found.success, found.result, found.time, found.group) == (5, False, *reported)


def test_unknown_kinds_are_skipped() -> None:
    assert decode_traces(b"") == []
    assert decode_traces(b"Later\x01what\x02\x02") == []


@pytest.mark.parametrize("report", ["Pub", "SubBefore\x01x", PUB, f"SubAfter\x01request\x01{ID}\x01soon\x01true\x01k"])
def test_what_is_no_report(report: str) -> None:
    with pytest.raises(TraceInvalid, match=r"the trace .* cannot be read"):
        decode_traces(report.encode())
