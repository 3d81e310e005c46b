"""What may differ between two answers, and what may not."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire.capture.contents.frames import RecordedFrame
from rocketwire.capture.file.events import CutParts, FrameSent, StreamSource
from rocketwire.capture.replay.compare import differences, masked, masked_text
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.header import Header
from rocketwire.wire.message import MessageRecord, encode_record


def frame(code: int, header: Header, body: bytes = b"", requested: RecordedFrame | None = None) -> RecordedFrame:
    sent = FrameSent(time=0, connection=1, source=StreamSource.SERVER, left=CutParts(0), size=0, data=b"")
    return RecordedFrame(
        2, sent, header, body, 0, requested or frame(code, Header(code=code, opaque=1), requested=_NONE)
    )


_NONE: Any = object()


def fields(code: int, before: tuple[Header, bytes], now: tuple[Header, bytes]) -> dict[str, tuple[Any, Any]]:
    return {each.field: (each.recorded, each.replayed) for each in differences(frame(code, *before), *now)}


def answer(**values: Any) -> Header:
    return Header(**{"code": 0, "opaque": 1, "flag": 1} | values)


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        ("storeTimestamp", 1, 2),
        ("bootTimestamp", "1", "2"),
        ("msgId", "A", "B"),
        ("transactionId", "A", "B"),
        ("physicalOffset", 5, 6),
        ("bornHost", "10.0.0.1:1", "10.0.0.2:2"),
        ("brokerAddrs", {"0": "10.0.0.1:1"}, {"0": "10.0.0.2:2"}),
        ("dataVersion", {"counter": 1}, {"counter": 2}),
        ("text", "from 10.0.0.1:10911 at 1795426251194", "from [::1]:1 at 1795426251195"),
    ],
)
def test_times_ids_and_addresses_may_differ(name: str, one: Any, two: Any) -> None:
    assert masked({name: one}) == masked({name: two})
    assert masked({name: one}) != masked({})


@pytest.mark.parametrize("name", ["queueOffset", "reconsumeTimes", "UNIQ_KEY", "maxOffset", "topic"])
def test_other_fields_may_not(name: str) -> None:
    assert masked({name: "1"}) != masked({name: "2"})


def test_lists_of_json_have_no_order() -> None:
    assert masked({"topicList": ["b", "a"]}) == masked({"topicList": ["a", "b"]})
    assert masked([{"a": 1}, {"a": 2}]) == masked([{"a": 2}, {"a": 1}])
    assert masked([{"a": 1}, {"a": 2}], of_message=True) != masked([{"a": 2}, {"a": 1}], of_message=True)


def test_masks_of_texts() -> None:
    assert masked_text("at 2026-11-23 09:30:49,368: [fe80::1]:9876") == "at <time>: <address>"
    assert masked_text("queue 9, 12345") == "queue 9, 12345"


def test_each_field_that_differs_is_reported() -> None:
    before = answer(code=0, remark="ok", ext={"queueId": "1", "same": "s"})
    now = answer(code=1, remark=None, opaque=99, ext={"same": "s", "new": "n"})
    assert fields(34, (before, b'{"a":[1,2],"b":null}'), (now, b'{"a":[1],"b":"x"}')) == {
        "code": ("SUCCESS", "SYSTEM_ERROR"),
        "remark": ("ok", "(absent)"),
        "fields.queueId": ("1", "(absent)"),
        "fields.new": ("(absent)", "n"),
        "body.a[1]": (2, "(absent)"),
        "body.b": (None, "x"),
    }


def test_records_are_compared_by_their_fields() -> None:
    def record(**values: Any) -> bytes:
        usual: dict[str, Any] = {"topic": "T", "queue_id": 0, "body": b"1795426251194", "properties": b"TAGS\x01a\x02"}
        return encode_record(MessageRecord(**usual | values))

    code = RequestCode.PULL_MESSAGE
    moved = record(store_timestamp=5, store_host=("10.0.0.1", 1), physical_offset=77, born_host=("10.0.0.9", 2))
    assert fields(code, (answer(), record()), (answer(), moved)) == {}
    changed = record(body=b"1795426251195", properties=b"TAGS\x01b\x02", queue_offset=3)
    assert set(fields(code, (answer(), record()), (answer(), changed))) == {
        "body[0].body",
        "body[0].bodyCRC",
        "body[0].properties.TAGS",
        "body[0].queueOffset",
    }
    assert fields(code, (answer(), record()), (answer(), b"")).keys() == {"body"}
