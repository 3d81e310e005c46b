"""The headers of sends, pulls and offset updates are what the general decoder reads, or the request is for it."""

import json
import re
from collections import Counter
from functools import partial

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.wire.errors import HeaderTooLarge
from rocketwire.wire.header import MAX_HEADER_BYTES, Header, decode_header, encode_header
from rocketwire.wire.header import MAX_HEADER_FIELDS as MOST_READ
from rocketwire.wire.headers import WireHeader, encode_ext
from rocketwire.wire.headers.offset import UpdateConsumerOffsetRequestHeader
from rocketwire.wire.headers.pull import PullMessageRequestHeader
from rocketwire.wire.headers.send import SendMessageRequestHeader
from tests.kernel.fuzz import pulls as of_pulls
from tests.kernel.fuzz import sends as of_sends
from tests.server.harness import batch_body
from tests.wire import golden

JSON, BINARY = 0, 1
SENDS, PULLS = {10, 310, 320}, {11, 361, 15}
SHORT = {310, 320}
MOST_FIELDS = 24
OFFSET = {"consumerGroup": "g", "topic": "t", "queueId": "0", "commitOffset": "5"}
SEND = {"a": "g", "b": "t", "c": "d", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": "x\x01y"}

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
# Empty texts are for Python in a ROCKETMQ header.
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
    max_reconsume_times=st.none() | int32,
    bname=st.none() | word,
)
batches = st.builds(lambda send: msgspec.structs.replace(send, batch=True, properties=None), sends)
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
    st.tuples(st.sampled_from([10, 310]), sends)
    | st.tuples(st.just(320), batches)
    | st.tuples(st.sampled_from([11, 361]), pulls)
    | st.tuples(st.just(15), offsets)
)
serialize_types = st.sampled_from([JSON, BINARY])
damage = st.sampled_from(b'"\\{}:,u0-\x00\x1f \n\xc3\xed\xa0\xff') | st.integers(0, 255)


def check(data: bytes, serialize_type: int, code: int, body: bytes = b"body") -> bool:
    """What is read is what Python reads; returns whether it is read."""
    kind = bytes([serialize_type])
    if code in SENDS:
        return of_sends.sends(kind + data + of_sends.BODY + (batch_body([body]) if code == 320 else body)).requested
    return of_pulls.pulls(kind + data).requested


check_offset = partial(check, serialize_type=JSON, code=15)


def encoded(code: int, ext: dict[str, str], serialize_type: int = JSON, flag: int = 0) -> bytes:
    return encode_header(Header(code=code, opaque=7, flag=flag, version=407, ext=ext), serialize_type)


def ext_of(request: tuple[int, WireHeader]) -> dict[str, str]:
    code, fields = request
    return encode_ext(fields, short=code in SHORT)


@given(requests, serialize_types, st.sampled_from([0, 2]))
def test_a_request_as_encoded_is_taken(request: tuple[int, WireHeader], serialize_type: int, flag: int) -> None:
    one_way_pull = flag == 2 and request[0] in {11, 361}  # which no client sends
    taken = check(encoded(request[0], ext_of(request), serialize_type, flag), serialize_type, request[0])
    assert taken is not one_way_pull


@given(requests, serialize_types, st.sampled_from([1, 3, 4, -1]))
def test_answers_and_unknown_flags_are_for_python(
    request: tuple[int, WireHeader], serialize_type: int, flag: int
) -> None:
    assert not check(encoded(request[0], ext_of(request), serialize_type, flag), serialize_type, request[0])


@given(requests, st.sampled_from([310, 11]))
def test_a_reader_takes_only_its_own_codes(request: tuple[int, WireHeader], other: int) -> None:
    if (request[0] in SENDS) is not (other in SENDS):
        assert not check(encoded(request[0], ext_of(request)), JSON, other)


@given(requests, serialize_types, st.dictionaries(word, word, max_size=6))
def test_unknown_fields_are_skipped(request: tuple[int, WireHeader], serialize_type: int, more: dict[str, str]) -> None:
    ext = {"ReqT": "0", "ns": "n", "nsd": "false", "lo": "true"} | {f"x{name}": value for name, value in more.items()}
    assert check(encoded(request[0], ext | ext_of(request), serialize_type), serialize_type, request[0])


@given(requests, serialize_types, st.sampled_from(["AccessKey", "Signature", "SecurityToken"]))
def test_signed_requests_are_for_python(request: tuple[int, WireHeader], serialize_type: int, name: str) -> None:
    assert not check(encoded(request[0], {name: "x", **ext_of(request)}, serialize_type), serialize_type, request[0])


@given(requests, serialize_types, st.data())
def test_values_of_any_spelling_are_read_as_by_python_or_for_python(
    request: tuple[int, WireHeader], serialize_type: int, data: st.DataObject
) -> None:
    ext = ext_of(request)
    odd = (
        st.sampled_from(["", "+5", "-1", "007", "-0", " 1", "1.0", "1e3", "TRUE", "True", "0", "1", "null", str(2**63)])
        | text
    )
    for name in data.draw(st.lists(st.sampled_from(sorted(ext)), min_size=1, max_size=3)):
        ext[name] = data.draw(odd)
    check(encoded(request[0], ext, serialize_type), serialize_type, request[0])


@given(requests, serialize_types, st.data())
def test_a_request_without_a_field_it_needs_is_for_python(
    request: tuple[int, WireHeader], serialize_type: int, data: st.DataObject
) -> None:
    code, fields = request
    ext = ext_of(request)
    names = fields.SHORT_NAMES if code in SHORT else {}
    required = [names.get(each.name, each.encode_name) for each in msgspec.structs.fields(fields) if each.required]
    del ext[data.draw(st.sampled_from(required))]
    assert not check(encoded(code, ext, serialize_type), serialize_type, code)


@given(requests, st.data())
def test_a_repeated_field_is_for_python(request: tuple[int, WireHeader], data: st.DataObject) -> None:
    ext = ext_of(request)
    name = data.draw(st.sampled_from(sorted(ext)))
    twice = json.dumps({name: ext[name]}, ensure_ascii=False)[1:-1].replace(": ", ":", 1)
    raw = encoded(request[0], ext).replace(b'"extFields":{', b'"extFields":{' + twice.encode() + b",")
    assert not check(raw, JSON, request[0])


@given(requests, serialize_types, st.data())
def test_a_damaged_request_is_read_as_by_python_or_for_python(
    request: tuple[int, WireHeader], serialize_type: int, data: st.DataObject
) -> None:
    raw = bytearray(encoded(request[0], ext_of(request), serialize_type))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw)))
        raw[at : at + data.draw(st.integers(0, 2))] = bytes(data.draw(st.lists(damage, max_size=2)))
    check(bytes(raw), serialize_type, request[0])


@given(requests, serialize_types)
def test_a_header_that_is_cut_anywhere_is_for_python(request: tuple[int, WireHeader], serialize_type: int) -> None:
    raw = encoded(request[0], ext_of(request), serialize_type)
    for end in range(0, len(raw), 7):
        assert not check(raw[:end], serialize_type, request[0])


@given(st.binary(max_size=200), st.sampled_from([310, 11]))
def test_any_bytes_are_read_as_by_python_or_for_python(data: bytes, code: int) -> None:
    check(data, JSON, code)
    check(data, BINARY, code)


@given(requests, serialize_types, st.integers(0, MOST_FIELDS + 2))
def test_a_header_of_more_fields_than_a_request_has_is_for_python(
    request: tuple[int, WireHeader], serialize_type: int, more: int
) -> None:
    ext = ext_of(request) | {f"x{number}": "y" for number in range(more)}
    assert check(encoded(request[0], ext, serialize_type), serialize_type, request[0]) is (len(ext) <= MOST_FIELDS)


@given(st.permutations(range(8)), st.booleans(), st.none() | word)
def test_the_order_of_keys_does_not_matter(order: list[int], line_end: bool, remark: str | None) -> None:
    header = Header(code=15, opaque=7, version=407, remark=remark, ext=OFFSET)
    items = list(json.loads(encode_header(header, JSON)).items())
    mixed = dict(items[number] for number in order if number < len(items))
    data = json.dumps(mixed, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" * line_end
    assert check_offset(data)


@given(serialize_types, st.sampled_from([*OFFSET, "x"]))
def test_an_empty_value_is_for_python_in_a_binary_header(serialize_type: int, name: str) -> None:
    # There it is as if it were missing.
    read = check(encoded(15, {**OFFSET, name: ""}, serialize_type), serialize_type, 15)
    assert read is (serialize_type == JSON and name not in {"queueId", "commitOffset"})


@pytest.mark.parametrize(("code", "ext", "name"), [(310, SEND, name) for name in "abcx"] + [(15, OFFSET, "x")])
def test_a_name_or_unknown_value_with_escapes_is_for_python(code: int, ext: dict[str, str], name: str) -> None:
    assert check(encoded(code, {**ext, name: "plain"}), JSON, code)
    assert not check(encoded(code, {**ext, name: "a\tb"}), JSON, code)


BASE = b'{"code":15,"opaque":1,"extFields":%b}' % json.dumps(OFFSET, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (BASE, b""),
        (BASE, b"{}"),
        (BASE, b"[]"),
        (BASE, b" " + BASE),
        (BASE, BASE + b"x"),
        (BASE, BASE + b"\n\n"),
        (BASE, BASE[:-1] + b",}"),
        (b'"code":15,', b""),
        (b'"code":15,', b',"code":15,'),
        (b'"code":15,', b'"code":15,"code":15,'),
        (b'"code":15,', b'"code": 15,'),
        (b'"code"', b'"c\\u006fde"'),
        (b'"code"', b"'code'"),
        (b'"code"', b"code"),
        (b'"opaque":1,', b""),
        *((b'"opaque":1', b'"opaque":' + odd) for odd in (b"", b"-", b"-0", b"01", b"+1", b"1.0", b"1e0", b'"1"')),
        *((b'"opaque":1', b'"opaque":' + odd) for odd in (b"null", b"2147483648", b"-2147483649")),
        *((b'"opaque":1', b'"opaque":1,' + odd) for odd in (b'"more":1', b'"":1', b'"version":2147483648')),
        *((b'"opaque":1', b'"opaque":1,' + odd) for odd in (b'"flag":true', b'"language":null', b'"language":12')),
        *((b'"opaque":1', b'"opaque":1,' + odd) for odd in (b'"language":"\\u0041"', b'"remark":null')),
        *(
            (b'"opaque":1', b'"opaque":1,"remark":"' + odd)
            for odd in (b'a\\n"', b'a\nb"', b'a\xff"', b'\xc0\x80"', b'\xed\xa0\x80"', b'\xf4\x90\x80\x80"')
        ),
        (b'"opaque":1', b'"opaque":1,"remark":"\xe2\x82"'),
        (b'"opaque":1', b'"opaque":1,"remark":"a'),
        (BASE[BASE.index(b'{"cons') :], b"null}"),
        (BASE[BASE.index(b'{"cons') :], b"[]}"),
        (b'"queueId":"0"', b'"queueId":0'),
        (b'"queueId":"0"', b'"queueId":null'),
        (b'"commitOffset":"5"}', b'"commitOffset":"5",}'),
        (b'"commitOffset":"5"}}', b'"commitOffset":"5"}'),
        (b'"queueId"', b'"\\u0071ueueId"'),
        *((b'"commitOffset":"5"}}', b'"commitOffset":"5' + odd) for odd in (b"\\", b'\\"', b'\\\xc3\xa9"}}')),
    ],
)
def test_json_that_no_official_client_writes_is_for_python(old: bytes, new: bytes) -> None:
    assert check_offset(BASE)
    assert not check_offset(BASE.replace(old, new))


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (13, b"\xff\xff\xff\xff"),  # length of the remark
        (13, b"\x00\x00\x01\x00"),
        (17, b"\x00\x00\x00\x49"),  # of all fields
        (17, b"\x00\x00\x00\x4b"),
        (21, b"\x00\x09"),  # of a name
        (21, b"\x00\x0e"),
        (21, b"\xff\xff"),
        (36, b"\x80\x00\x00\x00"),  # of a value
        (36, b"\x00\x00\x00\x02"),
        (23, b"\xff"),  # the name
    ],
)
def test_binary_headers_whose_lengths_or_texts_are_wrong_are_for_python(at: int, value: bytes) -> None:
    data = bytearray(encoded(15, OFFSET, BINARY))
    assert check(bytes(data), BINARY, 15)
    data[at : at + len(value)] = value
    assert not check(bytes(data), BINARY, 15)


@pytest.mark.parametrize("kind", [JSON, BINARY])
def test_a_header_that_is_too_large_is_for_python_which_refuses_it(kind: int) -> None:
    def header(fields: int, value: str = "x") -> bytes:
        return encoded(15, OFFSET | {f"f{number}": value for number in range(fields)}, kind)

    room = MAX_HEADER_BYTES - len(header(1)) + 1
    assert check(header(1, "x" * room), kind, 15)
    for refused in (header(1, "x" * (room + 1)), header(MOST_READ + 8)):
        assert not check(refused, kind, 15)
        with pytest.raises(HeaderTooLarge):
            decode_header(refused, kind)


_escapes = st.sampled_from(
    [
        "\\n",
        "\\r",
        "\\t",
        "\\b",
        "\\f",
        '\\"',
        "\\\\",
        "\\/",
        "\\u0001",
        "\\u00e9",
        "\\u540D",
        "\\uD83D\\uDe00",
        "\\uE000",
        "\\uFFFF",
    ]
)
_odd_escapes = st.sampled_from(
    ["\\", "\\x", "\\u", "\\u12", "\\u12g4", "\\ud83d", "\\ude00", "\\ud83d\\u0041", "\\ud83d\\n", "\\u0000"]
)
_ends = st.sampled_from(["a", "é", "€", "😀", "x" * 15, "y" * 16, "z" * 17])


def stores(properties: bytes) -> bool:
    """Whether the kernel stores a message with a property of this JSON; if so, as Python would."""
    raw = encoded(310, {**SEND, "i": "k\x01HERE"}).replace(b"HERE", properties)
    return of_sends.sends(b"\0" + raw + of_sends.BODY + b"body").taken


@given(st.lists(_escapes | _ends | text.map(lambda value: json.dumps(value.replace("\0", ""))[1:-1]), max_size=12))
def test_escapes_in_properties_are_undone_as_python_undoes_them(parts: list[str]) -> None:
    assert stores("".join(parts).encode())


@given(st.lists(_escapes | _odd_escapes | _ends, max_size=6))
@example(["x" * 40, "\\ud83d"])
def test_odd_escapes_are_for_python(parts: list[str]) -> None:
    stores("".join(parts).encode())


@given(st.binary(max_size=40))
@example(b"\x1f")
@example(b"0123456789abcdef\xc3")
def test_any_bytes_in_properties_are_read_as_by_python_or_for_python(raw: bytes) -> None:
    stores(raw)


@pytest.mark.parametrize("raw", [b'a"b', b"\\ud83d", b"\\x", b"\x1f", b"\xff"])
def test_properties_that_are_no_json_text_are_for_python(raw: bytes) -> None:
    assert stores(b"\\u0041\\ud83d\\ude00")
    assert not stores(raw)


_PLAIN = re.compile(r"0|-?[1-9][0-9]*")
_numbers = (
    st.integers(-(2**65), 2**65).map(str)
    | st.sampled_from([2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1]).map(str)
    | st.text("0123456789+- .eE_xé", max_size=24)
)


@given(_numbers)
@example("")
@example("-")
@example("-0")
@example("00")
@example("9" * 19)
@example("9" * 20)
def test_numbers_are_those_that_java_writes(number: str) -> None:
    plain = _PLAIN.fullmatch(number) is not None
    for name, bits in (("queueId", 31), ("commitOffset", 63)):
        fits = plain and -(2**bits) <= int(number) < 2**bits
        assert check_offset(encoded(15, {**OFFSET, name: number})) is fits


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
            if row["kind"] == "response" or row["code"] not in SENDS | PULLS:
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
