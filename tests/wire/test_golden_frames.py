"""Every captured frame of Apache's programs is read, and written again with the same bytes."""

import pytest

from rocketwire.wire.batch import BATCH_ITEM, decode_batch, encode_batch
from rocketwire.wire.bodies._codec import decode_body, encode_body
from rocketwire.wire.bodies.client import (
    CheckClientRequestBody,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    LockBatchRequestBody,
    LockBatchResponseBody,
    UnlockBatchRequestBody,
)
from rocketwire.wire.bodies.fastjson import dumps, loads
from rocketwire.wire.bodies.group import SubscriptionGroupConfig, SubscriptionGroupWrapper
from rocketwire.wire.bodies.route import ClusterInfo, KVTable, RegisterBrokerBody, TopicList, TopicRouteData
from rocketwire.wire.bodies.topic import TopicConfigSerializeWrapper
from rocketwire.wire.facts.codes import LANGUAGES
from rocketwire.wire.frame import FRAME, Frame, decode_frame, encode_frame
from rocketwire.wire.header import BINARY_HEADER
from rocketwire.wire.headers._codec import WireHeader, decode_ext, encode_ext
from rocketwire.wire.headers.admin import CreateTopicRequestHeader, GetBrokerConfigResponseHeader
from rocketwire.wire.headers.client import (
    GetConsumerListByGroupRequestHeader,
    NotifyConsumerIdsChangedRequestHeader,
    UnregisterClientRequestHeader,
)
from rocketwire.wire.headers.offset import (
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)
from rocketwire.wire.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader
from rocketwire.wire.headers.query import (
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
    ViewMessageRequestHeader,
)
from rocketwire.wire.headers.route import (
    GetKVConfigRequestHeader,
    GetRouteInfoRequestHeader,
    PutKVConfigRequestHeader,
    RegisterBrokerRequestHeader,
    UnRegisterBrokerRequestHeader,
)
from rocketwire.wire.headers.send import (
    ReplyMessageRequestHeader,
    SendMessageRequestHeader,
    SendMessageResponseHeader,
)
from rocketwire.wire.headers.transaction import CheckTransactionStateRequestHeader, EndTransactionRequestHeader
from rocketwire.wire.message import decode_record, encode_record
from tests.wire import golden

SHORT_CODES = {310, 320, 325}
REQUEST_HEADERS: dict[int, type[WireHeader]] = {
    10: SendMessageRequestHeader,
    11: PullMessageRequestHeader,
    12: QueryMessageRequestHeader,
    14: QueryConsumerOffsetRequestHeader,
    15: UpdateConsumerOffsetRequestHeader,
    17: CreateTopicRequestHeader,
    29: SearchOffsetRequestHeader,
    30: GetMaxOffsetRequestHeader,
    31: GetMinOffsetRequestHeader,
    33: ViewMessageRequestHeader,
    35: UnregisterClientRequestHeader,
    37: EndTransactionRequestHeader,
    38: GetConsumerListByGroupRequestHeader,
    39: CheckTransactionStateRequestHeader,
    40: NotifyConsumerIdsChangedRequestHeader,
    100: PutKVConfigRequestHeader,
    101: GetKVConfigRequestHeader,
    103: RegisterBrokerRequestHeader,
    104: UnRegisterBrokerRequestHeader,
    105: GetRouteInfoRequestHeader,
    310: SendMessageRequestHeader,
    320: SendMessageRequestHeader,
    325: SendMessageRequestHeader,
    326: ReplyMessageRequestHeader,
}
RESPONSE_HEADERS: dict[int, type[WireHeader]] = {
    10: SendMessageResponseHeader,
    11: PullMessageResponseHeader,
    12: QueryMessageResponseHeader,
    14: QueryConsumerOffsetResponseHeader,
    26: GetBrokerConfigResponseHeader,
    29: SearchOffsetResponseHeader,
    30: GetMaxOffsetResponseHeader,
    31: GetMinOffsetResponseHeader,
    310: SendMessageResponseHeader,
    320: SendMessageResponseHeader,
    325: SendMessageResponseHeader,
}
REQUEST_BODIES: dict[int, type[object]] = {
    34: HeartbeatData,
    41: LockBatchRequestBody,
    42: UnlockBatchRequestBody,
    46: CheckClientRequestBody,
    103: RegisterBrokerBody,
    200: SubscriptionGroupConfig,
}
RESPONSE_BODIES: dict[int, type[object]] = {
    21: TopicConfigSerializeWrapper,
    28: KVTable,
    38: GetConsumerListByGroupResponseBody,
    41: LockBatchResponseBody,
    103: KVTable,
    105: TopicRouteData,
    106: ClusterInfo,
    201: SubscriptionGroupWrapper,
    206: TopicList,
    305: TopicList,
}
UNORDERED = {HeartbeatData.__name__, CheckClientRequestBody.__name__}
RECORD_CODES = {(11, "response"), (12, "response"), (33, "response"), (39, "oneway"), (361, "response")}


@pytest.fixture(params=golden.captures(), ids=str)
def capture(request: pytest.FixtureRequest) -> golden.Capture:
    found: golden.Capture = request.param
    return found


def test_frames_read_and_written_again_are_the_same(capture: golden.Capture) -> None:
    for _, data, row in golden.frames(capture):
        frame = decode_frame(data)
        header = frame.header
        assert (header.code, header.opaque) == (row["code"], row["opaque"])
        assert header.is_response is (row["kind"] == "response")
        assert header.is_oneway is (row["kind"] == "oneway")
        assert header.remark == row["header"].get("remark")
        assert (header.ext or {}) == row["header"].get("extFields", {})
        assert len(frame.body) == row["bodyLength"]
        assert encode_frame(header, frame.body, frame.serialize_type) == data


def test_frames_are_as_declared(capture: golden.Capture) -> None:
    for number, (_, data, _) in enumerate(golden.frames(capture)):
        if number % 5:
            continue
        frame = decode_frame(data)
        declared = FRAME.parse(data)
        assert (
            FRAME.build({"serialize_type": frame.serialize_type, "header": declared.header, "body": declared.body})
            == data
        )
        if frame.serialize_type:
            header = BINARY_HEADER.parse(declared.header)
            assert (header.code, header.opaque, header.flag) == (
                frame.header.code,
                frame.header.opaque,
                frame.header.flag,
            )
            assert LANGUAGES[header.language] == frame.header.language
            assert {each.key.decode(): each.value.decode() for each in header.ext} == (frame.header.ext or {})
            assert BINARY_HEADER.build(header) == declared.header


def test_typed_headers_read_and_written_again_are_the_same(capture: golden.Capture) -> None:
    for _, data, row in golden.frames(capture):
        header = decode_frame(data).header
        if row["kind"] == "response":
            cls = RESPONSE_HEADERS.get(row["requestCode"]) if row["code"] == 0 else None
        else:
            cls = REQUEST_HEADERS.get(row["code"])
        if cls is None:
            continue
        short = row["kind"] != "response" and row["code"] in SHORT_CODES
        typed = decode_ext(cls, header.ext, short=short)
        assert header.ext is not None
        written = encode_ext(typed, short=short)
        assert written.items() <= header.ext.items() | {("batch", "false"), ("m", "false"), ("compressed", "false")}
        assert decode_ext(cls, written, short=short) == typed


def test_bodies(capture: golden.Capture) -> None:
    for _, data, row in golden.frames(capture):
        frame = decode_frame(data)
        if not frame.body:
            continue
        response = row["kind"] == "response"
        code = row["requestCode"] if response else row["code"]
        if (code, row["kind"]) in RECORD_CODES:
            check_records(bytes(frame.body))
        elif code == 320 and not response:
            check_batch(bytes(frame.body))
        elif cls := (RESPONSE_BODIES if response else REQUEST_BODIES).get(code):
            check_body(cls, frame, strict=code == 105, exact=capture.version == "4.9.7")
        elif frame.body[:1] == b"{":
            assert dumps(loads(frame.body)) == bytes(frame.body)


def check_records(body: bytes) -> None:
    at = 0
    while at < len(body):
        message = decode_record(body, at)
        record = encode_record(message)
        assert body[at : at + len(record)] == record
        at += len(record)


def check_batch(body: bytes) -> None:
    items = decode_batch(body)
    assert len(items) > 1
    assert encode_batch(items) == body
    declared = BATCH_ITEM[len(items)].parse(body)
    assert [(each.flag, each.body, each.properties) for each in declared] == items


def check_body(cls: type[object], frame: Frame, *, strict: bool, exact: bool) -> None:
    body = decode_body(cls, frame.body)
    written = encode_body(body, strict=strict)
    assert decode_body(cls, written) == body
    if exact:
        assert ordered(loads(written)) == ordered(loads(frame.body))
        if cls.__name__ not in UNORDERED:
            assert written == bytes(frame.body)


def ordered(value: object) -> object:
    """Give the value with the sets of tags, whose order is Java's hash order, in a fixed one."""
    if isinstance(value, dict):
        return {key: sorted(each) if key in {"tagsSet", "codeSet"} else ordered(each) for key, each in value.items()}
    if isinstance(value, list):
        return [ordered(each) for each in value]
    return value
