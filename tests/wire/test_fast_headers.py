"""The fast decoders of frequent headers against the general one."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.fast_headers import END, SEND, SEND_BACK, FastHeaders
from rocketwire.wire.header import MAX_HEADER_BYTES, Header, decode_header, encode_header
from rocketwire.wire.headers import WireHeader, decode_ext, encode_ext
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader, SendMessageRequestHeader
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.java import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, Int64
from tests.wire import golden

int32 = st.integers(INT32_MIN, INT32_MAX)
int64 = st.integers(INT64_MIN, INT64_MAX)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


class Kind(NamedTuple):
    """A fast decoder, and the general form of what it decodes."""

    fast: FastHeaders[Any]
    header: type[WireHeader]
    short: bool
    requests: st.SearchStrategy[Any]


KINDS: Final = {
    "send": Kind(
        SEND,
        SendMessageRequestHeader,
        short=True,
        requests=st.builds(
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
        ),
    ),
    "send back": Kind(
        SEND_BACK,
        ConsumerSendMsgBackRequestHeader,
        short=False,
        requests=st.builds(
            ConsumerSendMsgBackRequestHeader,
            offset=int64,
            group=text,
            delay_level=int32,
            origin_msg_id=st.none() | text,
            origin_topic=st.none() | text,
            unit_mode=st.booleans(),
            max_reconsume_times=st.none() | int32,
            bname=st.none() | text,
        ),
    ),
    "end": Kind(
        END,
        EndTransactionRequestHeader,
        short=False,
        requests=st.builds(
            EndTransactionRequestHeader,
            producer_group=text,
            tran_state_table_offset=int64,
            commit_log_offset=int64,
            commit_or_rollback=int32,
            from_transaction_check=st.booleans(),
            msg_id=text,
            transaction_id=st.none() | text,
        ),
    ),
}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def check_equal(kind: Kind, data: bytes) -> None:
    found = kind.fast.decode(memoryview(data))
    if kind.fast.is_odd(data, true=True):
        assert found is None
        return
    assert found is not None
    header = decode_header(data, 0)
    for name in ("code", "opaque", "flag", "language", "version", "remark"):
        assert getattr(found, name) == getattr(header, name)
    general = decode_ext(kind.header, header.ext, short=kind.short)
    for name in found.fields.__struct_fields__:
        assert getattr(found.fields, name) == getattr(general, name)


@given(st.data(), st.sampled_from(list(KINDS.values())), int32, st.sampled_from([0, 2]), st.integers(0, 700))
def test_a_header_reads_as_the_general_decoder_reads_it(
    data: st.DataObject, kind: Kind, opaque: int, flag: int, version: int
) -> None:
    fields = data.draw(kind.requests)
    code = data.draw(st.sampled_from(sorted(kind.fast.codes)))
    ext = encode_ext(fields, short=kind.short)
    check_equal(kind, encode_header(Header(code=code, opaque=opaque, flag=flag, version=version, ext=ext), 0))


@pytest.mark.parametrize(("kind", "least"), [("send", 200), ("send back", 2), ("end", 1)])
def test_golden_headers_read_as_the_general_decoder_reads_them(kind: str, least: int) -> None:
    seen = 0
    for capture in golden.captures():
        for _, frame, row in golden.frames(capture):
            if row["kind"] != "response" and row["code"] in KINDS[kind].fast.codes and row["serializer"] == "JSON":
                check_equal(KINDS[kind], frame[8 : 8 + row["headerLength"]])
                seen += 1
    assert seen >= least


@each_kind
@given(junk=st.binary(max_size=80))
def test_other_bytes_are_left_to_the_general_decoder(kind: Kind, junk: bytes) -> None:
    assert kind.fast.decode(memoryview(junk)) is None
    kind.fast.decode(memoryview(b'{"code":%d,' % min(kind.fast.codes) + junk))


SEND_FIELDS = b'{"a":"P","b":"T","c":"T","d":"4","e":"0","f":"0","g":"1","h":"0"}'


@each_kind
@pytest.mark.parametrize(
    "header",
    [
        b'{"code":310,"opaque":1}',
        b'{"code":310,"opaque":1,"extFields":{"a":"g"}}',
        b'{"code":310,"opaque":1,"extFields":{"a":"\xff"}}',
        b'{"code":310,"opaque":1,"extFields":%b,"remark":"%b"}' % (SEND_FIELDS, bytes(MAX_HEADER_BYTES)),
        b'{"code":10,"opaque":1,"extFields":{}}',
        b'{"code":36,"opaque":1}',
        b'{"code":36,"opaque":1,"extFields":{"group":"g","offset":"1"}}',
        b'{"code":36,"opaque":1,"extFields":{"group":"\xff"}}',
        b'{"code":36,"opaque":1,"extFields":{"group":"g","offset":"+1","delayLevel":"0"}}',
        b'{"code":36,"opaque":1,"extFields":{"group":"g","offset":"1","delayLevel":"0"},"code":105}',
        b'{"code":36,"opaque":1,"extFields":{"group":"1.0","offset":"1","delayLevel":"0"}}',
        b'{"code":36,"opaque":1,"extFields":{"group":"g","offset":"1","delayLevel":"0","unitMode":"1"}}',
        b'{"code":37,"opaque":1}',
        b'{"code":37,"opaque":1,"extFields":{"group":"g","offset":"1","delayLevel":"0"}}',
        b'{"code":37,"opaque":1,"extFields":{"msgId":"\xff"}}',
        (
            b'{"code":37,"opaque":1,"extFields":{"producerGroup":"g","tranStateTableOffset":"1","commitLogOffset":"1",'
            b'"commitOrRollback":"8","msgId":"m"},"code":105}'
        ),
    ],
)
def test_other_headers_are_left_to_the_general_decoder(kind: Kind, header: bytes) -> None:
    assert kind.fast.decode(memoryview(header)) is None


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
    # Access control looks at what the general decoder finds: no send may be served under another code.
    data = b'{"code":%d,"code":%b,"opaque":1,"extFields":%b}' % (first, later, SEND_FIELDS)
    assert (SEND.decode(memoryview(data)) is not None) is taken
    if taken:
        check_equal(KINDS["send"], data)


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
    if strictness:
        assert SEND.decode(memoryview(data)) is None
    else:
        check_equal(KINDS["send"], data)
    assert decode_header(data, 0).ext == decode_header(b'{"code":310,"opaque":2,"extFields":%b}' % SEND_FIELDS, 0).ext


# --- texts that msgspec takes for a number or a boolean, and Java does not ---


class Fields(WireHeader, frozen=True, kw_only=True):
    """One of each kind."""

    number: Int64 = -7
    perhaps: Int64 | None = None
    truth: bool = False


decode = msgspec.json.Decoder(Fields, strict=False).decode
odd = FastHeaders(Fields, truths=("truth",), truth=lambda fields: fields.truth).is_odd
texts = st.from_regex(r"[-+]?[0-9]{0,3}([.eE][-+0-9]{0,3})?|null|true|TRUE|[01]", fullmatch=True)


@given(
    st.dictionaries(st.sampled_from(["number", "perhaps", "truth"]), texts), st.sampled_from([(",", ":"), (", ", ": ")])
)
def test_what_is_not_odd_is_read_as_java_reads_it(ext: dict[str, str], separators: tuple[str, str]) -> None:
    data = msgspec.json.encode(ext).replace(b",", separators[0].encode()).replace(b":", separators[1].encode())
    try:
        found = decode(data)
    except msgspec.ValidationError:
        return
    if not odd(data, true=found.truth):
        assert found == decode_ext(Fields, ext)


@pytest.mark.parametrize("number", ["1e0", "-1E2", "1.0", "null"])
@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_numbers_of_msgspec_alone_are_odd(number: str, blank: str) -> None:
    assert odd(f'{{"number":{blank}"{number}"}}'.encode(), true=False)


def test_a_one_is_odd_where_a_boolean_stands() -> None:
    assert odd(b'{"truth":"1"}', true=True)
    assert odd(b'{"truth" : "1"}', true=True)
    assert not odd(b'{"truth":"true","number":"1"}', true=True)
    assert not odd(b'{"number":"1"}', true=False)


@pytest.mark.parametrize("number", ["1", "-1", "17", "+1e0", "x1e0", "e", "nullx"])
def test_others_are_not_odd(number: str) -> None:
    assert not odd(f'{{"number":"{number}"}}'.encode(), true=False)
