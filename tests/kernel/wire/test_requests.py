"""The fields of sends, pulls and offset updates are what the general decoder reads, or the request is left to it."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire._kernel import read_offset, read_pull, read_send
from rocketwire.wire.header import Header, decode_header, encode_header
from rocketwire.wire.headers import WireHeader, decode_ext, encode_ext
from rocketwire.wire.headers.offset import UpdateConsumerOffsetRequestHeader
from rocketwire.wire.headers.pull import PullMessageRequestHeader
from rocketwire.wire.headers.send import SendMessageRequestHeader
from tests.wire import golden

JSON, BINARY = 0, 1
Read = Callable[[bytes, int], tuple[Any, ...] | None]

SEND = (
    "producer_group", "topic", "default_topic", "default_topic_queue_nums", "queue_id", "sys_flag", "born_timestamp",
    "flag", "properties", "reconsume_times", "unit_mode", "max_reconsume_times", "batch", "bname",
)  # fmt: skip
PULL = (
    "consumer_group", "topic", "queue_id", "queue_offset", "max_msg_nums", "sys_flag", "commit_offset",
    "suspend_timeout_millis", "sub_version", "subscription", "expression_type", "bname", "max_msg_bytes",
)  # fmt: skip
OFFSET = ("consumer_group", "topic", "queue_id", "commit_offset")
KINDS: dict[int, tuple[Read, type[WireHeader], tuple[str, ...]]] = {
    10: (read_send, SendMessageRequestHeader, SEND),
    310: (read_send, SendMessageRequestHeader, SEND),
    320: (read_send, SendMessageRequestHeader, SEND),
    11: (read_pull, PullMessageRequestHeader, PULL),
    361: (read_pull, PullMessageRequestHeader, PULL),
    15: (read_offset, UpdateConsumerOffsetRequestHeader, OFFSET),
}
SHORT = {310, 320}

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
# Empty texts are for Python in a ROCKETMQ header: test_headers.
text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
word = st.text(st.characters(exclude_categories=["C"], exclude_characters='"\\'), min_size=1, max_size=30)
sends = st.builds(
    SendMessageRequestHeader,
    producer_group=word,
    topic=word,
    default_topic=word,
    default_topic_queue_nums=int32,
    queue_id=int32,
    sys_flag=int32,
    born_timestamp=int64,
    flag=int32,
    properties=st.none() | text,
    reconsume_times=st.none() | int32,
    unit_mode=st.none() | st.booleans(),
    batch=st.booleans(),
    max_reconsume_times=st.none() | int32,
    bname=st.none() | word,
)
pulls = st.builds(
    PullMessageRequestHeader,
    consumer_group=word,
    topic=word,
    queue_id=int32,
    queue_offset=int64,
    max_msg_nums=int32,
    sys_flag=int32,
    commit_offset=int64,
    suspend_timeout_millis=int64,
    sub_version=int64,
    subscription=st.none() | word,
    expression_type=st.none() | word,
    bname=st.none() | word,
    max_msg_bytes=st.none() | int32,
)
offsets = st.builds(
    UpdateConsumerOffsetRequestHeader,
    consumer_group=word,
    topic=word,
    queue_id=int32,
    commit_offset=int64,
    bname=st.none() | word,
)
requests = (
    st.tuples(st.sampled_from([10, 310, 320]), sends)
    | st.tuples(st.sampled_from([11, 361]), pulls)
    | st.tuples(st.just(15), offsets)
)
serialize_types = st.sampled_from([JSON, BINARY])


def check(data: bytes, serialize_type: int, code: int) -> bool:
    """What is taken is what Python reads; tell whether it is taken."""
    read, cls, names = KINDS[code]
    found = read(data, serialize_type)
    if found is None:
        return False
    header = decode_header(data, serialize_type)
    assert not header.is_response
    fields = decode_ext(cls, header.ext, short=header.code in SHORT)
    assert found == tuple(getattr(fields, name) for name in names)
    assert [type(value) for value in found] == [type(getattr(fields, name)) for name in names]
    return True


def encoded(code: int, ext: dict[str, str], serialize_type: int, flag: int = 0) -> bytes:
    return encode_header(Header(code=code, opaque=7, flag=flag, version=407, ext=ext), serialize_type)


@given(requests, serialize_types, st.sampled_from([0, 2]))
def test_a_request_as_encoded_is_taken(request: tuple[int, WireHeader], serialize_type: int, flag: int) -> None:
    code, fields = request
    assert check(encoded(code, encode_ext(fields, short=code in SHORT), serialize_type, flag), serialize_type, code)


@given(requests, serialize_types, st.sampled_from([1, 3, 4, -1]))
def test_answers_and_unknown_flags_are_left_to_python(
    request: tuple[int, WireHeader], serialize_type: int, flag: int
) -> None:
    code, fields = request
    assert not check(encoded(code, encode_ext(fields, short=code in SHORT), serialize_type, flag), serialize_type, code)


@given(requests, st.sampled_from(sorted(KINDS)))
def test_a_reader_takes_only_its_own_codes(request: tuple[int, WireHeader], other: int) -> None:
    code, fields = request
    read = KINDS[other][0]
    if read is not KINDS[code][0]:
        assert read(encoded(code, encode_ext(fields, short=code in SHORT), JSON), JSON) is None


@given(requests, serialize_types, st.dictionaries(word, word, max_size=6))
def test_unknown_fields_are_passed_over(
    request: tuple[int, WireHeader], serialize_type: int, more: dict[str, str]
) -> None:
    code, fields = request
    ext = {"ReqT": "0", "ns": "n", "nsd": "false", "lo": "true"} | {f"x{name}": value for name, value in more.items()}
    assert check(encoded(code, ext | encode_ext(fields, short=code in SHORT), serialize_type), serialize_type, code)


@given(requests, serialize_types, st.sampled_from(["AccessKey", "Signature", "SecurityToken"]))
def test_what_is_signed_is_left_to_python(request: tuple[int, WireHeader], serialize_type: int, name: str) -> None:
    code, fields = request
    ext = encode_ext(fields, short=code in SHORT)
    assert not check(encoded(code, {name: "x", **ext}, serialize_type), serialize_type, code)


@given(requests, serialize_types, st.data())
def test_values_of_any_spelling_are_read_as_python_reads_them_or_left_to_it(
    request: tuple[int, WireHeader], serialize_type: int, data: st.DataObject
) -> None:
    code, fields = request
    ext = encode_ext(fields, short=code in SHORT)
    odd = (
        st.sampled_from(["", "+5", "-1", "007", "-0", " 1", "1.0", "1e3", "TRUE", "True", "0", "1", "null", str(2**63)])
        | text
    )
    for name in data.draw(st.lists(st.sampled_from(sorted(ext)), min_size=1, max_size=3)):
        ext[name] = data.draw(odd)
    check(encoded(code, ext, serialize_type), serialize_type, code)


@given(requests, serialize_types, st.data())
def test_a_request_without_a_field_it_needs_is_left_to_python(
    request: tuple[int, WireHeader], serialize_type: int, data: st.DataObject
) -> None:
    code, fields = request
    ext = encode_ext(fields, short=code in SHORT)
    names = fields.SHORT_NAMES if code in SHORT else {}
    required = [names.get(each.name, each.encode_name) for each in msgspec.structs.fields(fields) if each.required]
    del ext[data.draw(st.sampled_from(required))]
    assert not check(encoded(code, ext, serialize_type), serialize_type, code)


@given(requests, st.data())
def test_a_field_that_is_there_twice_is_left_to_python(request: tuple[int, WireHeader], data: st.DataObject) -> None:
    code, fields = request
    ext = encode_ext(fields, short=code in SHORT)
    name = data.draw(st.sampled_from(sorted(ext)))
    twice = json.dumps({name: ext[name]}, ensure_ascii=False)[1:-1].replace(": ", ":", 1)
    raw = encoded(code, ext, JSON).replace(b'"extFields":{', b'"extFields":{' + twice.encode() + b",")
    assert not check(raw, JSON, code)


@given(requests, serialize_types, st.data())
def test_a_damaged_request_is_read_as_python_reads_it_or_left_to_it(
    request: tuple[int, WireHeader], serialize_type: int, data: st.DataObject
) -> None:
    code, fields = request
    raw = bytearray(encoded(code, encode_ext(fields, short=code in SHORT), serialize_type))
    special = st.sampled_from(b'"\\{}:,u0-\x00\x1f \n\xc3\xed\xa0\xff') | st.integers(0, 255)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw)))
        raw[at : at + data.draw(st.integers(0, 2))] = bytes(data.draw(st.lists(special, max_size=2)))
    check(bytes(raw), serialize_type, code)


@pytest.mark.parametrize("name", ["a", "b", "c", "n"])
def test_a_name_with_escapes_is_left_to_python(name: str) -> None:
    ext = {"a": "g", "b": "t", "c": "d", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": "x\x01y", "n": "b"}
    assert check(encoded(310, ext, JSON), JSON, 310)
    assert not check(encoded(310, {**ext, name: "a\tb"}, JSON), JSON, 310)


def test_unknown_fields_with_escapes_are_left_to_python() -> None:
    ext = {"consumerGroup": "g", "topic": "t", "queueId": "0", "commitOffset": "5"}
    assert check(encoded(15, {**ext, "x": "plain"}, JSON), JSON, 15)
    assert not check(encoded(15, {**ext, "x": "a\tb"}, JSON), JSON, 15)


def test_properties_whose_escapes_are_odd_are_left_to_python() -> None:
    ext = {"a": "g", "b": "t", "c": "d", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": "HERE"}
    raw = encoded(310, ext, JSON)
    assert check(raw.replace(b"HERE", b"\\u0041\\ud83d\\ude00"), JSON, 310)
    assert not check(raw.replace(b"HERE", b"\\ud83d"), JSON, 310)


@pytest.mark.parametrize(
    ("code", "raw"),
    [
        (  # the Go client: its own order of keys, an empty remark, no serializeTypeCurrentRPC
            310,
            (
                rb'{"code":310,"language":"GO","version":317,"opaque":11,"flag":0,"remark":"","extFields":{"a":"g","b":"t",'
                rb'"c":"TBW102","d":"4","e":"3","f":"0","g":"1795253302934","h":"0","i":"UNIQ_KEY\u00010A\u0002WAIT\u0001'
                rb'true\u0002TAGS\u0001a\u0026b\u0002","j":"0","k":"false","l":"0","m":"false"}}'
            ),
        ),
        (
            11,
            (
                rb'{"code":11,"language":"GO","version":317,"opaque":12,"flag":0,"remark":"","extFields":{"bname":"b",'
                rb'"commitOffset":"0","consumerGroup":"g","expressionType":"TAG","maxMsgNums":"32","queueId":"0",'
                rb'"queueOffset":"7","subVersion":"1795253302934","subscription":"*","suspendTimeoutMillis":"20000000000",'
                rb'"sysFlag":"6","topic":"t"}}'
            ),
        ),
        (
            15,
            (
                rb'{"code":15,"language":"GO","version":317,"opaque":13,"flag":0,"remark":"","extFields":'
                rb'{"commitOffset":"7","consumerGroup":"g","queueId":"0","topic":"t"}}'
            ),
        ),
        (  # the C++ client: keys in alphabetical order, a line end
            10,
            rb'{"code":10,"extFields":{"batch":"false","bornTimestamp":"1795253302934","defaultTopic":"TBW102",'
            rb'"defaultTopicQueueNums":"4","flag":"0","producerGroup":"g","properties":"TAGS\u0001a\u0002",'
            rb'"queueId":"1","reconsumeTimes":"0","sysFlag":"0","topic":"t","unitMode":"false"},"flag":0,'
            rb'"language":"CPP","opaque":14,"remark":"","serializeTypeCurrentRPC":"JSON","version":98}' + b"\n",
        ),
    ],
)
def test_requests_of_other_official_clients_are_taken(code: int, raw: bytes) -> None:
    assert check(raw, JSON, code)


def test_golden_requests_are_taken() -> None:
    seen: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for capture in golden.captures():
        for _, data, row in golden.frames(capture):
            if row["kind"] == "response" or row["code"] not in KINDS:
                continue
            binary = row["serializer"] == "ROCKETMQ"
            took = check(data[8 : 8 + row["headerLength"]], BINARY if binary else JSON, row["code"])
            if "Signature" in row["header"]["extFields"]:  # access control is Python's
                assert not took
                continue
            kind = f"{row['code']} of {row['header']['version']}{' in binary' if binary else ''}"
            seen[kind] += 1
            taken[kind] += took
    assert len(seen) > 10
    assert seen.total() > 700
    assert taken == seen
