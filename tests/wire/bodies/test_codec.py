import inspect
import re
from dataclasses import dataclass, field, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.bodies import acl, assignment, client, group, online, progress, route, statistics, topic
from rocketwire.wire.bodies._codec import decode_body, encode_body
from rocketwire.wire.bodies._shapes import camel_case, from_builtins, to_builtins
from rocketwire.wire.bodies.client import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    LockBatchResponseBody,
    MessageModel,
    MessageQueue,
    SubscriptionData,
)
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.route import BrokerData, KVTable, TopicList
from rocketwire.wire.bodies.topic import TopicConfig, TopicFilterType
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.java import Int32, Int64

CLASSES = [
    cls
    for module in (acl, assignment, client, group, online, progress, route, statistics, topic)
    for _, cls in inspect.getmembers(module, lambda each: inspect.isclass(each) and is_dataclass(each))
    if cls.__module__ == module.__name__
]
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    Int32: st.integers(-(2**31), 2**31 - 1),
    Int64: st.integers(-(2**63), 2**63 - 1),
    str: st.text(max_size=8),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    Any: st.integers() | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    NoneType: st.none(),
}
json_values = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from([[], {}, [None, 1]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All the shapes that no body of the protocol has so far."""

    queues: dict[MessageQueue, Int64] = field(default_factory=dict)
    by_queue: dict[str, dict[MessageQueue, MessageQueue]] = field(default_factory=dict)
    rate: float = 0.5
    colors: dict[Int32, TopicFilterType] = field(default_factory=dict)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Give a strategy for the values of a type that a body's field may have."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in SCALARS:
        return SCALARS[hint]
    if origin in {Union, UnionType}:
        return st.one_of([values_of(each) for each in arguments])
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is frozenset:
        return st.frozensets(values_of(arguments[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=3)
    if isinstance(hint, type) and is_dataclass(hint):
        return st.builds(
            hint, **{name: values_of(each) for name, each in get_type_hints(hint, include_extras=True).items()}
        )
    return st.sampled_from(hint)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [*CLASSES, Table])
@given(data=st.data())
def test_round_trip(cls: type, data: st.DataObject) -> None:
    body = data.draw(values_of(cls))
    assert decode_body(cls, encode_body(body)) == body
    assert decode_body(cls, encode_body(body, strict=True)) == body


@pytest.mark.slow
@pytest.mark.parametrize("cls", [*CLASSES, Table])
@given(data=st.data())
def test_any_values_are_a_body_or_an_error(cls: type, data: st.DataObject) -> None:
    names = [camel_case(each) for each in cls.__dataclass_fields__]  # type: ignore[attr-defined]  # any dataclass has them
    value = data.draw(st.dictionaries(st.sampled_from(names), json_values))
    try:
        from_builtins(cls, value)
    except BodyInvalid as error:
        assert cls.__name__ in str(error) or "JSON" in str(error)


@pytest.mark.parametrize("cls", CLASSES)
def test_an_empty_object_is_a_body_of_defaults(cls: type) -> None:
    assert decode_body(cls, b"{}") == cls()
    assert decode_body(cls, b'{"unknown":{"a":[1]}}') == cls()


def test_names_of_the_wire() -> None:
    body = HeartbeatData(client_id="c")
    assert encode_body(body) == b'{"clientID":"c","consumerDataSet":[],"producerDataSet":[]}'
    locked = LockBatchResponseBody(lock_ok_mq_set=(MessageQueue(topic="t", broker_name="b", queue_id=1),))
    assert encode_body(locked) == b'{"lockOKMQSet":[{"brokerName":"b","queueId":1,"topic":"t"}]}'


def test_lenient_values() -> None:
    found = decode_body(TopicConfig, b'{\'perm\':"6",order:1,topicName:12,readQueueNums:null,"writeQueueNums":4.0}')
    assert found == TopicConfig(perm=6, order=True, topic_name="12", write_queue_nums=4)
    assert decode_body(KVTable, b'{"table":{"a":1,"b":true,"c":null}}').table == {"a": "1", "b": "true"}


def test_enums_are_names_or_numbers() -> None:
    text = '{"consumeType":1,"messageModel":"BROADCASTING","consumeFromWhere":"NEWER"}'
    found = decode_body(ConsumerData, text)
    assert found.consume_type is ConsumeType.CONSUME_PASSIVELY
    assert found.message_model is MessageModel.BROADCASTING
    assert found.consume_from_where is None
    written = encode_body(ConsumerData(consume_from_where=ConsumeFromWhere.CONSUME_FROM_TIMESTAMP))
    assert b'"consumeFromWhere":"CONSUME_FROM_TIMESTAMP"' in written


def test_keys_of_maps_come_in_all_forms() -> None:
    queue = MessageQueue(topic="t", broker_name="b", queue_id=1)
    expected = Table(queues={queue: 5})
    raw = '{"brokerName":"b","queueId":1,"topic":"t"}'
    assert decode_body(Table, f'{{"queues":{{{raw}:5}}}}') == expected
    assert decode_body(Table, encode_body(expected, strict=True)) == expected
    for text in (b'{"brokerAddrs":{0:"a"}}', b'{"brokerAddrs":{"0":"a"}}', b'{"brokerAddrs":{"0":"a","1":null}}'):
        assert decode_body(BrokerData, text).broker_addrs == {0: "a"}


def test_sets_of_tags_are_written_in_order() -> None:
    found = encode_body(SubscriptionData(tags_set=frozenset({"b", "a"}), code_set=frozenset({9, 10, -1})))
    assert b'"codeSet":[-1,9,10]' in found
    assert b'"tagsSet":["a","b"]' in found


@pytest.mark.parametrize(
    ("cls", "text", "message"),
    [
        (TopicConfig, "[]", "TopicConfig is not a JSON object"),
        (TopicConfig, "null", "TopicConfig is not a JSON object"),
        (TopicConfig, "{", "JSON is invalid"),
        (TopicConfig, '{"perm":"x"}', "TopicConfig.perm: 'x' is no integer"),
        (TopicConfig, '{"perm":2147483648}', "TopicConfig.perm: 2147483648 is no integer between -2147483648 and"),
        (TopicConfig, '{"readQueueNums":"-2147483649"}', "TopicConfig.readQueueNums: -2147483649 is no integer"),
        (SubscriptionData, '{"subVersion":9223372036854775808}', "SubscriptionData.subVersion: 9223372036854775808 is"),
        (SubscriptionData, '{"codeSet":[2147483648]}', "SubscriptionData.codeSet: 2147483648 is no integer"),
        (BrokerData, '{"brokerAddrs":{9223372036854775808:"a"}}', "BrokerData.brokerAddrs: 9223372036854775808 is"),
        (SubscriptionGroupConfig, '{"groupSysFlag":2147483648}', "SubscriptionGroupConfig.groupSysFlag: 2147483648"),
        (TopicList, '{"topicList":{}}', "TopicList.topicList: not a JSON array"),
        (TopicList, '{"topicList":[[]]}', "TopicList.topicList: list is no text"),
        (KVTable, '{"table":[]}', "KVTable.table: not a JSON object"),
        (BrokerData, '{"brokerAddrs":{"x":"a"}}', "BrokerData.brokerAddrs: 'x' is no integer"),
        (HeartbeatData, '{"producerDataSet":[1]}', "ProducerData is not a JSON object"),
        (Table, '{"queues":{"x":1}}', "JSON is invalid"),
    ],
)
def test_values_of_another_kind(cls: type, text: str, message: str) -> None:
    with pytest.raises(BodyInvalid, match=re.escape(message)):
        decode_body(cls, text)


def test_a_long_body_must_be_plain_json() -> None:
    table = {f"k{number}": "x" * 1000 for number in range(2200)}
    plain = encode_body(KVTable(table=table))
    assert decode_body(KVTable, plain).table == table
    other = plain.replace(b'"', b"'")
    with pytest.raises(BodyInvalid, match="bytes are no plain JSON, and too many for another"):
        decode_body(KVTable, other)
    assert decode_body(KVTable, other, lenient_limit=None).table == table


def test_integers_at_the_ends_of_their_ranges() -> None:
    config = TopicConfig(read_queue_nums=-(2**31), write_queue_nums=2**31 - 1)
    assert decode_body(TopicConfig, encode_body(config)) == config
    data = SubscriptionData(sub_version=2**63 - 1)
    assert decode_body(SubscriptionData, encode_body(data)) == data


def test_classes_that_are_no_bodies() -> None:
    @dataclass
    class NeedsAValue:
        a: int

    @dataclass
    class HasAStrangeType:
        a: complex = 0

    @dataclass
    class DoesNotSayHowWide:
        a: int = 0

    with pytest.raises(TypeError, match=r"NeedsAValue\.a needs a default"):
        to_builtins(NeedsAValue(a=1))
    with pytest.raises(TypeError, match="no JSON form for"):
        from_builtins(HasAStrangeType, {})
    with pytest.raises(TypeError, match="no JSON form for <class 'int'>"):
        from_builtins(DoesNotSayHowWide, {})
    assert issubclass(TopicFilterType, StrEnum)
