import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.batch import decode_batch
from rocketwire.wire.facts.properties import RESERVED_NAMES
from rocketwire.wire.grpc import definition_pb2, service_pb2
from rocketwire.wire.grpc.checks import CallLimits
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.sending import Send, read_send
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.properties import decode_properties
from tests.wire import golden

_LIMITS = CallLimits()
_APACHES = CallLimits(delay_ms=24 * 60 * 60 * 1000)
_NONE = CallLimits(
    body_bytes=0, user_properties=0, property_bytes=0, message_group_bytes=0, delay_ms=0, recovery_seconds=0
)
_NOW = 1_767_225_600_000
_text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)

#: Where the text differs from Apache's: keys without those that are empty, a time where Apache's proxy has 1970, and no
#: delivery time of a transaction.
_OTHER_TEXT = {
    "blank-keys": ("KEYS\x01 k \x02", "KEYS\x01k\x02"),
    "everything": ("TIMER_DELIVER_MS\x011767225700456\x02", ""),
    "bare": ("BORN_TIMESTAMP\x010\x02", f"BORN_TIMESTAMP\x01{_NOW}\x02"),
}


def _request(**fields: Any) -> service_pb2.SendMessageRequest:
    """A send; fields that are none of the system properties are the message's."""
    message = definition_pb2.Message(body=fields.pop("body", b"hello"))
    message.topic.name = fields.pop("topic", "orders")
    message.user_properties.update(fields.pop("user", {}))
    system = definition_pb2.SystemProperties(**{"message_id": "id", **fields})
    message.system_properties.CopyFrom(system)
    return service_pb2.SendMessageRequest(messages=[message])


def _read(request: service_pb2.SendMessageRequest, limits: CallLimits = _LIMITS) -> Send:
    return read_send(request, limits, remote="10.1.2.3:456", now=_NOW)


def _code(request: service_pb2.SendMessageRequest, limits: CallLimits = _LIMITS) -> int:
    with pytest.raises(CallInvalid) as raised:
        _read(request, limits)
    return raised.value.code


@pytest.mark.parametrize("case", golden.grpc_cases("sends"), ids=lambda case: str(case["name"]))
def test_sends_are_what_apaches_proxy_makes_of_them(case: dict[str, Any]) -> None:
    request = service_pb2.SendMessageRequest.FromString(bytes.fromhex(case["request"]))
    answer = case["answer"]
    if "code" in answer:
        assert _code(request, _APACHES) == answer["code"]
        return
    send = _read(request, _APACHES)
    assert send.sys_flag == answer["sysFlag"]
    assert send.message_type == answer["type"]
    if send.batch:
        assert send.properties == ""
        found = [(bytes(item.body), item.properties.decode()) for item in decode_batch(send.body)]
    else:
        found = [(send.body, send.properties)]
    assert [body for body, _ in found] == [message.body for message in request.messages]
    assert send.message_ids == tuple(message.system_properties.message_id for message in request.messages)
    written = [re.sub("[^\x02]+\x01\x02", "", text) for text in answer["properties"]]  # items without a value
    old, new = _OTHER_TEXT.get(case["name"], ("", ""))
    assert [text for _, text in found] == [text.replace(old, new) for text in written]


def test_the_header_of_a_send() -> None:
    send = _read(_request(message_group="g", delivery_attempt=3))
    assert send.fields(5) == SendMessageRequestHeader(
        producer_group="orders",
        topic="orders",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=5,
        sys_flag=0,
        born_timestamp=_NOW,
        flag=0,
        properties=send.properties,
        reconsume_times=0,
        batch=False,
    )
    assert send.message_group == "g"


def test_only_to_a_retry_topic_a_send_has_the_number_of_tries() -> None:
    assert _read(_request(topic="%RETRY%g", delivery_attempt=3)).fields(-1).reconsume_times == 3


def test_a_batch_keeps_each_messages_id() -> None:
    request = service_pb2.SendMessageRequest()
    for number in range(3):
        request.MergeFrom(_request(message_id=f"id-{number}", body=b"x" * number + b"y"))
    send = _read(request)
    assert send.batch
    assert send.fields(0).batch
    assert send.message_ids == ("id-0", "id-1", "id-2")
    items = decode_batch(send.body)
    assert [decode_properties(item.properties.decode())["UNIQ_KEY"] for item in items] == list(send.message_ids)
    assert [bytes(item.body) for item in items] == [b"y", b"xy", b"xxy"]


@pytest.mark.parametrize(
    "second",
    [{"message_group": "g"}, {"message_type": definition_pb2.TRANSACTION}, {"body_encoding": definition_pb2.GZIP}],
)
def test_what_a_batch_cannot_have(second: dict[str, Any]) -> None:
    request = _request()
    request.MergeFrom(_request(**second))
    assert _code(request) == Code.BAD_REQUEST


def test_every_message_of_a_batch_is_checked() -> None:
    request = _request()
    request.MergeFrom(_request(message_id=""))
    assert _code(request) == Code.ILLEGAL_MESSAGE_ID


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"body": b"x" * (4 * 1024 * 1024 + 1)}, Code.MESSAGE_BODY_TOO_LARGE),
        ({"user": {f"n{number}": "v" for number in range(129)}}, Code.MESSAGE_PROPERTIES_TOO_LARGE),
        ({"user": {"a": "v" * (16 * 1024 - 2)}, "tag": "t", "keys": ["k"]}, Code.MESSAGE_PROPERTIES_TOO_LARGE),
        ({"user": {"a": "ü" * (8 * 1024)}}, Code.MESSAGE_PROPERTIES_TOO_LARGE),
        ({"trace_context": "a\x02b"}, Code.BAD_REQUEST),
        ({"born_host": "a\x01b"}, Code.BAD_REQUEST),
        ({"message_id": "a\x02b"}, Code.ILLEGAL_MESSAGE_ID),
        ({"lite_topic": "l"}, Code.UNSUPPORTED),
    ],
)
def test_what_is_refused(fields: dict[str, Any], code: Code) -> None:
    assert _code(_request(**fields)) == code


@pytest.mark.parametrize(
    "fields",
    [
        {"body": b"x" * (4 * 1024 * 1024)},
        {"user": {f"n{number}": "v" for number in range(128)}},
        {"user": {"a": "v" * (16 * 1024 - 3)}, "tag": "t", "keys": ["k"]},
    ],
)
def test_what_just_fits(fields: dict[str, Any]) -> None:
    assert _read(_request(**fields)).topic == "orders"


def test_no_limits() -> None:
    request = _request(
        body=b"x" * (4 * 1024 * 1024 + 1),
        user={f"n{number}": "v" * 200 for number in range(129)},
        message_group="g" * 64,
        message_type=definition_pb2.TRANSACTION,
    )
    request.messages[0].system_properties.delivery_timestamp.seconds = 200_000_000_000
    request.messages[0].system_properties.orphaned_transaction_recovery_duration.seconds = 1_000_000
    send = _read(request, _NONE)
    assert send.message_type == "TRANSACTION"
    assert decode_properties(send.properties)["CHECK_IMMUNITY_TIME_IN_SECONDS"] == "1000000"


def test_a_delivery_time_counts_from_now() -> None:
    request = _request()
    deliver = request.messages[0].system_properties.delivery_timestamp
    limits = CallLimits(delay_ms=1000)
    deliver.FromMilliseconds(_NOW + 1000)
    assert _read(request, limits).message_type == "DELAY"
    deliver.FromMilliseconds(_NOW + 1001)
    assert _code(request, limits) == Code.ILLEGAL_DELIVERY_TIME
    assert _read(request).message_type == "DELAY"


@given(
    st.dictionaries(_text.filter(lambda name: name not in RESERVED_NAMES), _text, max_size=20),
    _text.filter(lambda tag: "|" not in tag and not tag.isspace()),
    _text.filter(lambda name: bool(name.strip())),
    st.binary(min_size=1, max_size=100),
)
def test_what_is_sent_is_in_the_send(user: dict[str, str], tag: str, message_id: str, body: bytes) -> None:
    send = _read(_request(user=user, tag=tag, message_id=message_id, body=body))
    assert send.body == body
    properties = decode_properties(send.properties)
    expected = {name: value for name, value in user.items() if name and value}
    expected |= {"UNIQ_KEY": message_id, "RECONSUME_TIME": "0", "PGROUP": "orders", "BORN_TIMESTAMP": str(_NOW)}
    expected |= {"__BORNHOST": "10.1.2.3:456"} | ({"TAGS": tag} if tag else {})
    assert properties == expected
