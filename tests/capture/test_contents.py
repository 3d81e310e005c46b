"""The content of frames: names, requests of answers, decoded bodies, and how events are shown."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from rocketwire.capture.contents.bodies import body_value
from rocketwire.capture.contents.frames import RecordedFrame, decoded
from rocketwire.capture.contents.shown import Item, items_of
from rocketwire.capture.file.events import (
    ConnectionOpened,
    CutParts,
    Event,
    FrameSent,
    RecordingStarted,
    RecordingStopped,
    Role,
    StreamEnded,
    StreamSource,
    UnreadableBytes,
)
from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, RequestCode, SysFlag
from rocketwire.wire.message import MessageRecord, encode_record
from tests.capture.support import request


def sent(
    data: bytes, *, time: int = 0, source: StreamSource = StreamSource.CLIENT, connection: int = 1, left: int = 0
) -> FrameSent:
    return FrameSent(time=time, connection=connection, source=source, left=CutParts(left), size=len(data), data=data)


def frames(*events: Event) -> list[RecordedFrame]:
    return [each for each in decoded(events) if isinstance(each, RecordedFrame)]


def test_an_answer_has_the_name_of_its_request() -> None:
    found = frames(
        sent(request(RequestCode.SEND_MESSAGE_V2, {"a": "P", "b": "T", "z": "?"}, opaque=5)),
        sent(request(RequestCode.PULL_MESSAGE, {"topic": "U", "consumerGroup": "G"}, opaque=5), connection=2),
        sent(request(RequestCode.CHECK_TRANSACTION_STATE, opaque=5), source=StreamSource.SERVER),
        sent(request(0, opaque=5, flag=FLAG_RESPONSE), source=StreamSource.SERVER, time=1500),
        sent(request(0, opaque=5, flag=FLAG_RESPONSE), source=StreamSource.SERVER, connection=2, time=2500),
        sent(request(0, opaque=5, flag=FLAG_RESPONSE)),
        sent(request(0, opaque=5, flag=FLAG_RESPONSE)),
    )
    assert [each.code_name for each in found[3:]] == [
        "SEND_MESSAGE_V2",
        "PULL_MESSAGE",
        "CHECK_TRANSACTION_STATE",
        "?",
    ]
    assert [(each.topic, each.group) for each in found[3:5]] == [("T", "P"), ("U", "G")]
    assert [each.latency for each in found[3:]] == [1500, 2500, 0, None]
    assert found[0].fields == {"producerGroup": "P", "topic": "T", "z": "?"}


def test_oneway_requests_get_no_answer() -> None:
    oneway = sent(request(RequestCode.UNREGISTER_CLIENT, opaque=5, flag=FLAG_ONEWAY))
    assert frames(oneway, sent(request(0, opaque=5, flag=FLAG_RESPONSE), source=StreamSource.SERVER))[1].request is None


def test_unknown_codes_have_numbers() -> None:
    assert frames(sent(request(9999)))[0].code_name == "9999"


def record(**values: Any) -> bytes:
    usual: dict[str, Any] = {"topic": "T", "queue_id": 0, "body": b"b", "store_host": ("10.0.0.1", 1)}
    return encode_record(MessageRecord(**usual | values))


@pytest.mark.parametrize(
    ("code", "response", "body", "value"),
    [
        (RequestCode.GET_BROKER_CONFIG, True, b"a=1\nb=x=y\n", {"a": "1", "b": "x=y"}),
        (
            RequestCode.GET_TOPIC_STATS_INFO,
            True,
            b'{"t":{{"q":1,"b":"x"}:{"m":2},3:4}}',
            {"t": {"b=x, q=1": {"m": 2}, "3": 4}},
        ),
        (RequestCode.GET_CONSUMER_LIST_BY_GROUP, True, b'{"broken', '{"broken'),
        (RequestCode.SEND_MESSAGE, False, b'{"of":"an application"}', '{"of":"an application"}'),
        (RequestCode.SEND_MESSAGE, False, b"\xff\x00", {"hex": "ff00"}),
        (RequestCode.PULL_MESSAGE, True, b"no record", "no record"),
        (RequestCode.PULL_MESSAGE, True, b"", None),
    ],
)
def test_bodies(code: int, response: bool, body: bytes, value: object) -> None:
    assert body_value(body, code, response=response) == value


def test_records_are_inflated() -> None:
    packed = record(body=zlib.compress(b"hello"), sys_flag=SysFlag.COMPRESSED, physical_offset=7)
    first, second = body_value(packed + record(properties=b"TAGS\x01a\x02"), RequestCode.PULL_MESSAGE, response=True)
    assert (first["body"], first["physicalOffset"], first["storeHost"]) == ("hello", 7, "10.0.0.1:1")
    assert first["offsetMsgId"] == "0A00000100000001" + "0000000000000007"
    assert second["properties"] == {"TAGS": "a"}
    damaged = record(body=b"no zlib", sys_flag=SysFlag.COMPRESSED)
    assert body_value(damaged, RequestCode.VIEW_MESSAGE_BY_ID, response=True)[0]["body"] == "no zlib"


def test_batches_are_taken_apart() -> None:
    body = encode_batch([BatchItem(0, b"one", b""), BatchItem(3, b"two", b"k\x01v\x02")])
    assert body_value(body, RequestCode.SEND_BATCH_MESSAGE, response=False) == [
        {"flag": 0, "properties": {}, "body": "one"},
        {"flag": 3, "properties": {"k": "v"}, "body": "two"},
    ]


def test_every_event_is_shown() -> None:
    started = RecordingStarted(time=0, wall=1000, upstream="a:1", program="p", bodies=True, secrets=False)
    events: list[Event] = [
        started,
        ConnectionOpened(time=5000, connection=1, role=Role.BROKER, client="c:1", server="s:2"),
        sent(b"no frame"),
        sent(request(34, {"x": "***"}), left=CutParts.ACCOUNT | CutParts.BODY),
        UnreadableBytes(time=6, connection=1, source=StreamSource.SERVER, size=3, data=b"abc"),
        StreamEnded(time=7, connection=1, source=StreamSource.SERVER, reason="reset"),
        RecordingStopped(time=8),
    ]
    items = list(items_of(events))
    assert [each.what for each in items] == [
        "recording of a:1",
        "c:1 connects to broker s:2",
        "no frame",
        "HEART_BEAT",
        "no frame",
        "end: reset",
        "recording stopped",
    ]
    assert [each.direction for each in items] == ["", "", "->", "->", "<-", "<-", ""]
    assert [each.wall for each in items[:2]] == [1000, 1005]
    assert [each.size for each in items[2:5]] == [8, len(events[3].data), 3]  # type: ignore[union-attr]
    assert items[3].detail()["missing"] == ["account masked", "body left out"]
    assert items[4].json() == {
        "event": "unreadable",
        "time": 6,
        "wall": 1000,
        "connection": 1,
        "source": "server",
        "size": 3,
        "hex": "616263",
    }
    assert Item(events[1], None).wall is None
