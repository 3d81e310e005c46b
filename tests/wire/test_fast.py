"""The hot path's codec against the declared one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire import fast
from rocketwire.wire.batch import BatchItem, decode_batch, encode_batch
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.errors import BatchInvalid
from rocketwire.wire.fast_texts import OddTexts
from rocketwire.wire.header import Header, decode_header, encode_header
from rocketwire.wire.headers import decode_ext, encode_ext
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import decode_properties, encode_properties
from tests.wire import golden

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
sends = st.builds(
    SendMessageRequestHeader,
    producer_group=text,
    topic=text,
    default_topic=text,
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
)
FIELDS = [name for name in SendMessageRequestHeader.__struct_fields__ if name != "bname"]


def check_equal(data: bytes) -> None:
    found = fast.decode_send(memoryview(data))
    if OddTexts("k", "m")(data, true=True):
        assert found is None
        return
    assert found is not None
    header = decode_header(data, 0)
    fields = decode_ext(SendMessageRequestHeader, header.ext, short=True)
    assert (found.code, found.opaque, found.flag, found.version) == (
        header.code,
        header.opaque,
        header.flag,
        header.version,
    )
    assert [getattr(found.fields, name) for name in FIELDS] == [getattr(fields, name) for name in FIELDS]


@given(sends, st.sampled_from([RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE]), int32)
def test_a_send_header_reads_as_the_general_decoder_reads_it(
    fields: SendMessageRequestHeader, code: int, opaque: int
) -> None:
    check_equal(encode_header(Header(code=code, opaque=opaque, version=407, ext=encode_ext(fields, short=True)), 0))


def test_golden_send_headers_read_as_the_general_decoder_reads_them() -> None:
    seen = 0
    for capture in golden.captures():
        for _, frame, row in golden.frames(capture):
            if row["kind"] != "response" and row["code"] in {310, 320} and row["serializer"] == "JSON":
                check_equal(frame[8 : 8 + row["headerLength"]])
                seen += 1
    assert seen > 200


@given(st.binary(max_size=80))
def test_other_bytes_are_left_to_the_general_decoder(junk: bytes) -> None:
    assert fast.decode_send(memoryview(junk)) is None
    fast.decode_send(memoryview(b'{"code":310,' + junk))


@pytest.mark.parametrize(
    "header",
    [
        b'{"code":310,"opaque":1}',
        b'{"code":310,"opaque":1,"extFields":{"a":"g"}}',
        b'{"code":310,"opaque":1,"extFields":{"a":"\xff"}}',
        b'{"code":10,"opaque":1,"extFields":{}}',
    ],
)
def test_incomplete_headers_are_left_to_the_general_decoder(header: bytes) -> None:
    assert fast.decode_send(memoryview(header)) is None


SEND_FIELDS = b'{"a":"P","b":"T","c":"T","d":"4","e":"0","f":"0","g":"1","h":"0"}'


@pytest.mark.parametrize(
    ("first", "later", "taken"),
    [
        *((310, code, False) for code in (b"30", b"10", b'"30"', b"310.5", b"null", b"0", b"[]")),
        *((310, code, True) for code in (b"310", b"320", b'"310"')),
        (320, b"310", True),
        (320, b"12", False),
    ],
)
def test_of_a_code_that_is_there_twice_the_last_counts(first: int, later: bytes, *, taken: bool) -> None:
    # Access control looks at what the general decoder finds: no send may go the short way under another code.
    data = b'{"code":%d,"code":%b,"opaque":1,"extFields":%b}' % (first, later, SEND_FIELDS)
    found = fast.decode_send(memoryview(data))
    assert (found is not None) is taken
    if found is not None:
        check_equal(data)


@pytest.mark.parametrize("strictness", [b"", b'"remark":5,'])  # the second is for the lenient reader
@pytest.mark.parametrize(
    "fields",
    [
        SEND_FIELDS.replace(b'"b":"T"', b'"b":"A","b":"T"'),
        SEND_FIELDS.replace(b'"b":"T"', b'"b":"A","\\u0062":"T"'),
        SEND_FIELDS.replace(b'"T"', b'"A"') + b',"extFields":' + SEND_FIELDS,
    ],
)
def test_of_fields_that_are_there_twice_the_last_count(fields: bytes, strictness: bytes) -> None:
    data = b'{"code":310,%b"opaque":1,"opaque":2,"extFields":%b}' % (strictness, fields)
    check_equal(data)
    assert decode_header(data, 0).ext == decode_header(b'{"code":310,"opaque":2,"extFields":%b}' % SEND_FIELDS, 0).ext


property_name = st.sampled_from(
    ["UNIQ_KEY", "WAIT", "TAGS", "KEYS", "CLUSTER", "DELAY", "TRAN_MSG", "a", "名"]
) | st.text(st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=8)
property_value = st.sampled_from(["true", "false", "TagA", "k1 k2"]) | st.text(
    st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=12
)


@given(st.dictionaries(property_name, property_value, max_size=8), st.booleans())
def test_stored_properties_are_the_clients_less_wait_plus_cluster(client: dict[str, str], trailing: bool) -> None:
    sent = encode_properties(client) + ("\x02" if trailing and client else "")
    stored = fast.stored_properties(sent, "CLUSTER\x01c1")
    expected = {name: value for name, value in decode_properties(sent).items() if name != "WAIT"} | {"CLUSTER": "c1"}
    assert decode_properties(stored.data.decode()) == expected
    assert stored.unique_key == client.get("UNIQ_KEY")
    assert stored.keys == client.get("KEYS")
    assert stored.tags == client.get("TAGS")
    assert stored.wait == client.get("WAIT")
    steering = {name: value for name, value in client.items() if name in fast.STEERING_NAMES}
    assert decode_properties(stored.steering) == steering


@given(st.lists(st.tuples(int32, st.binary(max_size=30), st.dictionaries(property_name, property_value, max_size=8))))
def test_a_batch_reads_as_the_general_decoder_reads_it(sent: list[tuple[int, bytes, dict[str, str]]]) -> None:
    body = encode_batch([BatchItem(flag, data, encode_properties(own).encode()) for flag, data, own in sent])
    found = fast.batch_messages(body)
    assert [(each.flag, each.body, each.properties) for each in found] == decode_batch(body)
    for message, (_, _, own) in zip(found, sent, strict=True):
        assert (message.unique_key, message.keys, message.tags) == (
            own.get("UNIQ_KEY"),
            own.get("KEYS"),
            own.get("TAGS"),
        )
        assert message.steering is bool(fast.STEERING_NAMES & own.keys())


@given(st.binary(max_size=80), st.data())
def test_a_damaged_batch_is_refused_as_the_general_decoder_refuses_it(junk: bytes, data: st.DataObject) -> None:
    good = encode_batch([BatchItem(1, b"body", b"a\x01b"), BatchItem(2, b"", b"")])
    at = data.draw(st.integers(0, len(good)))
    body = good[:at] + junk + good[at + data.draw(st.integers(0, 4)) :]
    try:
        expected = decode_batch(body)
    except BatchInvalid as error:
        with pytest.raises(BatchInvalid, match=re.escape(str(error))):
            fast.batch_messages(body)
    else:
        assert [(each.flag, each.body, each.properties) for each in fast.batch_messages(body)] == expected


@pytest.mark.parametrize("length", [b"\x80\x00", b"\xff\xff"])
def test_a_negative_length_of_properties_is_refused(length: bytes) -> None:
    properties = bytes(int.from_bytes(length, "big"))
    total = 22 + len(properties)
    body = total.to_bytes(4, "big") + bytes(16) + length + properties
    with pytest.raises(BatchInvalid):
        fast.batch_messages(body)


def test_items_without_name_or_value_are_dropped() -> None:
    stored = fast.stored_properties("empty\x01\x02\x01value\x02nothing\x02a\x01b", "CLUSTER\x01c")
    assert stored.data == b"a\x01b\x02CLUSTER\x01c"
    assert fast.stored_properties("", "CLUSTER\x01c").data == b"CLUSTER\x01c"


@pytest.mark.parametrize(
    ("text", "stored"),
    [  # as a 4.9.7 broker stored them
        ("", "CLUSTER=c"),
        ("WAIT=true", "CLUSTER=c;WAIT=true"),
        ("WAIT=true;", "CLUSTER=c;WAIT=true"),
        ("UNIQ_KEY=X;WAIT=true;AAA=b;", "AAA=b;UNIQ_KEY=X;CLUSTER=c;WAIT=true"),
        ("zeta=;WAIT=false;alpha=1", "alpha=1;CLUSTER=c;WAIT=false"),
        ("A=b;A=c;", "A=c;CLUSTER=c"),
        ("bad;WAIT=true", "CLUSTER=c;WAIT=true"),
        ("CLUSTER=mine;", "CLUSTER=c"),
        ("a=b=c;", "a=b=c;CLUSTER=c"),
    ],
)
def test_the_properties_of_a_whole_batch_are_put_in_apaches_order(text: str, stored: str) -> None:
    sent, wanted = (each.replace("=", "\x01").replace(";", "\x02") for each in (text, stored))
    assert fast.batch_properties(sent, "CLUSTER\x01c").data == wanted.encode()


def test_tag_codes_are_java_hashes_and_the_table_of_them_is_bounded() -> None:
    assert fast.tags_code(None) == fast.tags_code("") == 0
    for number in range(5000):
        tag = f"tag-{number}"
        assert fast.tags_code(tag) == string_hash(tag)
        assert fast.tags_code(tag) == string_hash(tag)
