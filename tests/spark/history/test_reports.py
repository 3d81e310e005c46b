"""Reports of traces as hops; tests/wire/test_trace.py has the reports themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.history.reports import FIELDS, hops_of

PUB = "Pub\x0111\x01R\x01pg\x01T\x01A,B\x01null\x01k1 k2\x01127.0.0.1:10911\x018\x0196\x01"


def report(*fields: object) -> bytes:
    return "\x01".join(map(str, fields)).encode() + b"\x02"


def test_a_send() -> None:
    (hop,) = hops_of(f"{PUB}1\x01OFFSETID\x01true\x01192.0.2.1\x02".encode())
    assert hop == {
        "kind": "Pub",
        "time": 11,
        "region": "R",
        "group": "pg",
        "topic": "T",
        "message_id": "A,B",
        "tags": None,
        "keys": ["k1", "k2"],
        "store_host": "127.0.0.1:10911",
        "body_length": 8,
        "cost": 96,
        "message_type": "half",
        "offset_message_id": "OFFSETID",
        "success": True,
        "client_host": "192.0.2.1",
    }
    assert hops_of(f"{PUB}9\x01true\x02".encode())[0]["message_type"] == "9"


def test_consuming() -> None:
    begin = report("SubBefore", 5, "null", "cg", "REQ", "A", 2, "")
    end = report("SubAfter", "REQ", "A", 7, "false", "k", 2, 12, "cg")
    first, second = hops_of(begin + end)
    assert (first["kind"], first["time"], first["retry_times"], first["keys"]) == ("SubBefore", 5, 2, [])
    assert (second["kind"], second["time"], second["cost"], second["result"]) == ("SubAfter", 12, 7, "exception")


@pytest.mark.parametrize(
    ("success", "result", "name"),
    [
        ("true", "\x010", "success"),
        ("true", "", "success"),
        ("false", "\x010", "failed"),
        ("false", "", "failed"),
        ("false", "\x011", "time-out"),
        ("false", "\x014", "failed"),
        ("false", "\x0177", "failed"),
    ],
)
def test_results_of_all_versions(success: str, result: str, name: str) -> None:
    (hop,) = hops_of(f"SubAfter\x01REQ\x01A\x015\x01{success}\x01k{result}\x02".encode())
    assert (hop["result"], hop["time"], hop["group"]) == (name, None, None)


def test_the_end_of_a_transaction_and_a_recall() -> None:
    end = report("EndTransaction", 5, "R", "pg", "T", "A", "", "", "h", 1, "TX", "ROLLBACK_MESSAGE", "true")
    recall = report("Recall", 6, "R", "pg", "T", "A", "true")
    first, second = hops_of(end + recall)
    assert (first["result"], first["transaction_id"], first["from_check"]) == ("ROLLBACK_MESSAGE", "TX", True)
    assert (second["kind"], second["success"]) == ("Recall", True)


def test_one_that_cannot_be_read_does_not_take_the_others_with_it() -> None:
    good = report("Recall", 6, "R", "pg", "T", "A", "true")
    first, second, third = hops_of(good + report("Pub", "soon") + good)
    assert first == third
    assert second == {"kind": "Pub", "problem": second["problem"]}
    assert "cannot be read" in second["problem"]


def test_times_that_spark_cannot_have_are_null() -> None:
    assert hops_of(report("Recall", 1 << 62, "R", "pg", "T", "A", "true"))[0]["time"] is None


@given(st.binary() | st.lists(st.sampled_from([b"Pub", b"SubAfter", b"\x01", b"\x02", b"1", b"\xff"])).map(b"".join))
def test_any_bytes(body: bytes) -> None:
    assert all(FIELDS.keys() >= hop.keys() for hop in hops_of(body))
