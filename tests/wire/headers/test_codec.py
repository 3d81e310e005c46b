import inspect
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import HeaderFieldInvalid, HeaderFieldMissing, WireError
from rocketwire.wire.headers import (
    acl,
    admin,
    client,
    group,
    offset,
    online,
    pop,
    pull,
    query,
    route,
    send,
    transaction,
)
from rocketwire.wire.headers._codec import WireHeader, decode_ext, encode_ext
from rocketwire.wire.headers.client import UnregisterClientRequestHeader, UnregisterClientResponseHeader
from rocketwire.wire.headers.offset import GetMaxOffsetRequestHeader, GetMaxOffsetResponseHeader
from rocketwire.wire.headers.pull import PullMessageRequestHeader
from rocketwire.wire.headers.route import QueryDataVersionResponseHeader
from rocketwire.wire.headers.send import (
    RecallMessageRequestHeader,
    RecallMessageResponseHeader,
    SendMessageRequestHeader,
    SendMessageResponseHeader,
)
from rocketwire.wire.java import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, Int32, Int64
from tests.wire import golden

CLASSES = [
    cls
    for module in (acl, admin, client, group, offset, online, pop, pull, query, route, send, transaction)
    for _, cls in inspect.getmembers(module, inspect.isclass)
    # No frame has the header of a call's route.
    if issubclass(cls, WireHeader) and cls not in {WireHeader, route.CallRouteRequestHeader}
]
VALUES = {
    Int32: st.integers(INT32_MIN, INT32_MAX),
    Int64: st.integers(INT64_MIN, INT64_MAX),
    str: st.text(max_size=10),
    bool: st.booleans(),
}


def headers(cls: type[WireHeader]) -> st.SearchStrategy[WireHeader]:
    fields = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if name in cls.__struct_fields__:
            options = get_args(hint) if get_origin(hint) in {UnionType, Union} else (hint,)
            kinds = [st.none() if each is NoneType else VALUES[each] for each in options]
            fields[name] = st.one_of(kinds)
    return st.builds(cls, **fields)


any_header = st.sampled_from(CLASSES).flatmap(headers)
OF_5 = {
    RecallMessageRequestHeader,
    RecallMessageResponseHeader,
    admin.GetTopicConfigRequestHeader,
    group.GetSubscriptionGroupConfigRequestHeader,
    group.QuerySubscriptionByConsumerRequestHeader,
    group.QueryTopicsByConsumerRequestHeader,
    *(cls for _, cls in inspect.getmembers(pop, inspect.isclass) if cls.__module__ == pop.__name__),
}
ABSENT_FROM_THE_TABLE = {"_UNIQUE_KEY_QUERY"}
ABSENT_FROM_THE_WIRE = {"plainAccessConfigs"}
"""Fields that a class of Apache's has and that its broker never writes (tried)."""
NOT_NEEDED: dict[type[WireHeader], set[str]] = {
    admin.CreateTopicRequestHeader: {"defaultTopic", "order"},
    admin.DeleteTopicRequestHeader: {"topic"},
    client.UnregisterClientRequestHeader: {"clientID"},
    group.CloneGroupOffsetRequestHeader: {"srcGroup", "destGroup"},
    group.QueryConsumeTimeSpanRequestHeader: {"group"},
    group.QueryCorrectionOffsetHeader: {"compareGroup"},
    online.ResetOffsetRequestHeader: {"isForce"},
    pop.NotificationRequestHeader: {"bornTime"},
    pop.PopMessageResponseHeader: {"popTime", "invisibleTime", "reviveQid", "restNum"},
    pull.PullMessageRequestHeader: {"commitOffset", "suspendTimeoutMillis", "subVersion"},
    query.QueryMessageRequestHeader: {"topic", "key"},
    route.AddWritePermOfBrokerRequestHeader: {"brokerName"},
    route.DeleteKVConfigRequestHeader: {"namespace", "key"},
    route.DeleteTopicFromNamesrvRequestHeader: {"topic"},
    route.GetKVConfigRequestHeader: {"namespace", "key"},
    route.GetKVListByNamespaceRequestHeader: {"namespace"},
    route.GetRouteInfoRequestHeader: {"topic"},
    route.GetTopicsByClusterRequestHeader: {"cluster"},
    route.QueryDataVersionRequestHeader: {"brokerId"},
    route.WipeWritePermOfBrokerRequestHeader: {"brokerName"},
    send.ReplyMessageRequestHeader: {"defaultTopic", "defaultTopicQueueNums"},
    send.SendMessageRequestHeader: {"producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums"},
    transaction.EndTransactionRequestHeader: {"msgId"},
}
"""Fields that Apache's classes require and its servers of 4.9.7 do without: tests/server/test_header_variants.py."""
WORDED = {
    acl.CreateAccessConfigRequestHeader,
    acl.DeleteAccessConfigRequestHeader,
    acl.UpdateGlobalWhiteAddrsConfigRequestHeader,
}
"""Requests that a 4.9.7 broker refuses with another text when a required field is missing (tried)."""


@given(any_header, st.booleans())
def test_round_trip(header: WireHeader, short: bool) -> None:
    ext = encode_ext(header, short=short)
    assert all(isinstance(value, str) for value in ext.values())
    assert decode_ext(type(header), ext, short=short) == header
    assert decode_ext(type(header), ext | {"unknownField": "x"}, short=short) == header


@pytest.mark.parametrize("cls", CLASSES)
def test_fields_are_those_of_4_9(cls: type[WireHeader]) -> None:
    known = {row["field"]: row for row in golden.table("headers") if row["header"] == cls.__name__ and row["java_type"]}
    ours = {field.encode_name: field for field in msgspec.structs.fields(cls)}
    assert set(ours) - ABSENT_FROM_THE_TABLE <= set(known)
    assert {name for name, row in known.items() if "4.9" in row["versions"]} <= set(ours) | ABSENT_FROM_THE_WIRE
    version = "5" if cls in OF_5 else "4.9"
    required = {name for name, row in known.items() if row["required"] == "y" and version in row["versions"]}
    required -= ABSENT_FROM_THE_WIRE | NOT_NEEDED.get(cls, set())
    assert {name for name, field in ours.items() if field.required} == (set() if cls in WORDED else required)
    for name in set(ours) & set(known):
        text = str(ours[name].type)
        kind = "bool" if "bool" in text else "int" if "int" in text else "str"
        java = known[name]["java_type"].lower()
        assert kind == {"string": "str", "boolean": "bool"}.get(java, "int"), name


def test_a_secret_key_is_not_shown() -> None:
    header = acl.CreateAccessConfigRequestHeader(access_key="account", secret_key="very-secret")
    assert "account" in repr(header)
    assert "very-secret" not in repr(header)


def test_short_names_are_those_of_4_9() -> None:
    known = {
        row["v2_short_name"]: row["field"]
        for row in golden.table("headers")
        if row["header"] == "SendMessageRequestHeaderV2" and "4.9" in row["versions"] and row["v2_short_name"]
    }
    cls = SendMessageRequestHeader
    names = dict(zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True))
    ours = {names[field]: short for field, short in SendMessageRequestHeader.SHORT_NAMES.items()}
    ours["brokerName"] = ours.pop("bname")
    assert ours == known


def test_a_missing_field() -> None:
    with pytest.raises(HeaderFieldMissing, match="the field topic of GetMaxOffsetRequestHeader is missing") as caught:
        decode_ext(GetMaxOffsetRequestHeader, None)
    assert (caught.value.header, caught.value.field) == ("GetMaxOffsetRequestHeader", "topic")


@pytest.mark.parametrize(
    "text", ["", "x", "9223372036854775808", "-9223372036854775809", "1.5", "1.0", "1e0", "0x1", "1_0", "²", "null"]
)
def test_an_invalid_number(text: str) -> None:
    with pytest.raises(HeaderFieldInvalid, match="the field offset of GetMaxOffsetResponseHeader") as caught:
        decode_ext(GetMaxOffsetResponseHeader, {"offset": text})
    assert (caught.value.field, caught.value.value) == ("offset", text)


@pytest.mark.parametrize(
    ("text", "value"), [("+5", 5), ("007", 7), ("-0", 0), ("٣", 3), ("9223372036854775807", 2**63 - 1)]
)
def test_numbers_as_java_reads_them(text: str, value: int) -> None:
    assert decode_ext(GetMaxOffsetResponseHeader, {"offset": text}).offset == value


def test_a_number_that_is_an_int_in_java() -> None:
    fields = {"msgId": "A", "queueId": "2147483648", "queueOffset": "0"}
    with pytest.raises(HeaderFieldInvalid, match="field queueId"):
        decode_ext(SendMessageResponseHeader, fields)


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("True", True), ("1", False), ("false", False), ("0", False), ("yes", False), ("", False)],
)
def test_booleans_as_java_reads_them(text: str, value: bool) -> None:
    assert decode_ext(QueryDataVersionResponseHeader, {"changed": text}).changed is value


NO_NUMBERS = ["", " ", "x", "1.5", "1.0", "1e0", "null", "2147483648", "-2147483649", "9" * 100]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_a_number_that_is_none_is_as_if_it_were_missing_where_it_may_be(text: str) -> None:
    fields = {"offset": "5", "group": "g", "delayLevel": "1"}
    expected = decode_ext(send.ConsumerSendMsgBackRequestHeader, fields)
    found = decode_ext(send.ConsumerSendMsgBackRequestHeader, fields | {"maxReconsumeTimes": text})
    assert found == expected
    assert found.max_reconsume_times is None


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_a_number_that_is_none_is_refused_in_headers_that_are_read_by_hand(text: str) -> None:
    pulling = PullMessageRequestHeader(
        consumer_group="g", topic="t", queue_id=0, queue_offset=0, max_msg_nums=1, sys_flag=0
    )
    with pytest.raises(HeaderFieldInvalid, match="field maxMsgBytes"):
        decode_ext(PullMessageRequestHeader, encode_ext(pulling) | {"maxMsgBytes": text})
    sent = {"b": "t", "e": "0", "f": "0", "g": "0", "h": "0"}
    assert decode_ext(SendMessageRequestHeader, sent, short=True).reconsume_times is None
    with pytest.raises(HeaderFieldInvalid, match="field reconsumeTimes"):
        decode_ext(SendMessageRequestHeader, sent | {"j": text}, short=True)


def test_booleans_are_written_in_lower_case() -> None:
    assert encode_ext(QueryDataVersionResponseHeader(changed=True)) == {"changed": "true"}
    assert encode_ext(QueryDataVersionResponseHeader(changed=False)) == {"changed": "false"}


def test_none_is_omitted_and_a_text_null_is_kept() -> None:
    header = UnregisterClientRequestHeader(client_id="c", producer_group="null")
    assert encode_ext(header) == {"clientID": "c", "producerGroup": "null"}
    assert decode_ext(UnregisterClientRequestHeader, encode_ext(header)) == header


def test_a_header_without_fields() -> None:
    assert encode_ext(UnregisterClientResponseHeader()) == {}
    assert decode_ext(UnregisterClientResponseHeader, {"a": "b"}) == UnregisterClientResponseHeader()


def test_headers_are_frozen() -> None:
    header: Any = GetMaxOffsetResponseHeader(offset=1)
    with pytest.raises(AttributeError):
        header.offset = 2
    assert issubclass(HeaderFieldMissing, WireError)


def test_what_is_wrong_with_a_short_field_is_reported_with_its_long_name() -> None:
    header = SendMessageRequestHeader(
        producer_group="g", topic="t", default_topic="d", default_topic_queue_nums=4, queue_id=0, sys_flag=0,
        born_timestamp=1, flag=0,
    )  # fmt: skip
    ext = encode_ext(header, short=True)
    with pytest.raises(HeaderFieldInvalid, match="field queueId"):
        decode_ext(SendMessageRequestHeader, ext | {"e": "x"}, short=True)
    del ext["e"]
    with pytest.raises(HeaderFieldMissing, match="field queueId"):
        decode_ext(SendMessageRequestHeader, ext, short=True)
    assert decode_ext(SendMessageRequestHeader, ext | {"e": "+0"}, short=True) == header
