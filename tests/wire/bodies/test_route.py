import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.bodies._codec import encode_body
from rocketwire.wire.bodies.route import (
    BrokerData,
    QueueData,
    RegisterBrokerBody,
    TopicRouteData,
    decode_registration,
    encode_registration,
)
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig, TopicConfigSerializeWrapper, TopicFilterType
from rocketwire.wire.errors import BodyInvalid, RegistrationTooLarge
from rocketwire.wire.json_bounds import MAX_JSON_ENTRIES

MOST = 4 << 20
INT32 = st.integers(-(2**31), 2**31 - 1)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" "), min_size=1, max_size=10)
topics = st.builds(
    TopicConfig,
    topic_name=names,
    read_queue_nums=INT32,
    write_queue_nums=INT32,
    perm=INT32,
    topic_filter_type=st.sampled_from(TopicFilterType),
)
registrations = st.builds(
    RegisterBrokerBody,
    topic_config_serialize_wrapper=st.builds(
        TopicConfigSerializeWrapper,
        topic_config_table=st.lists(topics, max_size=4).map(lambda found: {each.topic_name: each for each in found}),
        data_version=st.builds(DataVersion, counter=INT32, timestamp=INT32),
    ),
    filter_server_list=st.lists(st.text(max_size=5), max_size=3).map(tuple),
)


@given(registrations, st.booleans())
def test_registration_round_trip(body: RegisterBrokerBody, compressed: bool) -> None:
    assert (
        decode_registration(encode_registration(body, compressed=compressed), compressed=compressed, most=MOST) == body
    )


def stream(*parts: bytes) -> bytes:
    return zlib.compress(b"".join(parts))


def item(text: bytes) -> bytes:
    return struct.pack(">i", len(text)) + text


VERSION = item(b'{"counter":3,"timestamp":5}')
ONE_TOPIC = struct.pack(">i", 1) + item(b"T 4 8 6 SINGLE_TAG")


def test_the_compressed_form() -> None:
    data = stream(VERSION, ONE_TOPIC, item(b'["f:1"]'))
    expected = RegisterBrokerBody(
        topic_config_serialize_wrapper=TopicConfigSerializeWrapper(
            topic_config_table={"T": TopicConfig(topic_name="T", read_queue_nums=4, write_queue_nums=8, perm=6)},
            data_version=DataVersion(counter=3, timestamp=5),
        ),
        filter_server_list=("f:1",),
    )
    assert decode_registration(data, compressed=True, most=MOST) == expected
    assert zlib.decompress(encode_registration(expected, compressed=True)) == zlib.decompress(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no zlib", "cannot be inflated"),
        (b"", "cut short"),
        (stream(VERSION, ONE_TOPIC, item(b"[]"))[:-4], "cut short"),
        (stream(b"\0\0"), "cut short"),
        (stream(struct.pack(">i", -1)), "item of -1 bytes"),
        (stream(struct.pack(">i", 100), b"x"), "item of 100 bytes where 1 are left"),
        (stream(VERSION), "cut short"),
        (stream(VERSION, ONE_TOPIC, item(b"{}")), "no JSON array"),
        (stream(VERSION, ONE_TOPIC, item(b"[[]]")), "filter server list is no text"),
        (stream(VERSION, ONE_TOPIC, item(b"[]"), b"x"), "more bytes than it says"),
        (stream(VERSION, struct.pack(">i", 1), item(b"T 4 8 6"), item(b"[]")), "is no topic"),
        (stream(VERSION, struct.pack(">i", 1), item(b"T 4 8 x SINGLE_TAG"), item(b"[]")), "is no topic"),
        (stream(VERSION, struct.pack(">i", 1), item(b"T 4 8 6 TWO_TAGS"), item(b"[]")), "is no topic"),
        (stream(VERSION, struct.pack(">i", 1), item(b"T 4 2147483648 6 SINGLE_TAG"), item(b"[]")), "is no topic"),
        (stream(VERSION, ONE_TOPIC, item(b"['" + b"x" * (2 << 20) + b"']")), "are no plain JSON, and too many"),
    ],
)
def test_damaged_registrations(data: bytes, message: str) -> None:
    with pytest.raises(BodyInvalid, match=message):
        decode_registration(data, compressed=True, most=MOST)


@pytest.mark.parametrize(
    ("data", "compressed"),
    [
        (b'{"x":"' + b"x" * 1024 + b'"}', False),
        (b"[" + b"{}," * 30 + b"{}]", False),
        (zlib.compress(bytes(1025)), True),
        (stream(VERSION, struct.pack(">i", 9)), True),
    ],
)
def test_a_registration_too_large(data: bytes, compressed: bool) -> None:
    with pytest.raises(RegistrationTooLarge, match="too large"):
        decode_registration(data, compressed=compressed, most=1024)


def test_what_has_many_entries_and_is_no_registration_is_an_error() -> None:
    data = b"[" + b"0," * MAX_JSON_ENTRIES + b"0]"
    with pytest.raises(BodyInvalid, match="is not as a broker writes it"):
        decode_registration(data, compressed=False, most=MOST)


@pytest.mark.parametrize("compressed", [False, True])
def test_topics_up_to_a_limit_are_taken(compressed: bool) -> None:
    topics = {name: TopicConfig(topic_name=name, attributes={}) for name in "abcdefgh"}
    body = RegisterBrokerBody(topic_config_serialize_wrapper=TopicConfigSerializeWrapper(topic_config_table=topics))
    data = encode_registration(body, compressed=compressed)
    most = 8 * 128 if compressed else len(data)
    decoded = decode_registration(data, compressed=compressed, most=most)
    assert list(decoded.topic_config_serialize_wrapper.topic_config_table) == list(topics)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_registration_or_an_error(data: bytes) -> None:
    for raw, compressed in ((data, True), (zlib.compress(data), True), (data, False)):
        try:
            decode_registration(raw, compressed=compressed, most=MOST)
        except BodyInvalid as error:
            assert str(error)


@pytest.mark.parametrize("name", ["a b", ""])
def test_names_that_the_compressed_form_cannot_hold(name: str) -> None:
    wrapper = TopicConfigSerializeWrapper(topic_config_table={name: TopicConfig(topic_name=name)})
    body = RegisterBrokerBody(topic_config_serialize_wrapper=wrapper)
    with pytest.raises(BodyInvalid, match="cannot be written"):
        encode_registration(body, compressed=True)


def test_a_route_has_its_broker_ids_unquoted_unless_strict() -> None:
    found = TopicRouteData(
        broker_datas=(BrokerData(cluster="C", broker_name="b", broker_addrs={1: "x:2", 0: "x:1"}),),
        queue_datas=(QueueData(broker_name="b", read_queue_nums=4, write_queue_nums=4, perm=6),),
    )
    rest = (
        b'"brokerName":"b","cluster":"C"}],"filterServerTable":{},"queueDatas":[{"brokerName":"b","perm":6,'
        b'"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}'
    )
    assert encode_body(found) == b'{"brokerDatas":[{"brokerAddrs":{1:"x:2",0:"x:1"},' + rest
    assert encode_body(found, strict=True) == b'{"brokerDatas":[{"brokerAddrs":{"0":"x:1","1":"x:2"},' + rest
