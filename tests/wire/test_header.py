import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import HeaderInvalid, HeaderTooLarge, SerializeTypeUnknown
from rocketwire.wire.facts.codes import LANGUAGES, SerializeType
from rocketwire.wire.header import (
    BINARY_HEADER,
    MAX_HEADER_BYTES,
    MAX_HEADER_FIELDS,
    Header,
    decode_header,
    encode_header,
)

INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(max_size=20)

json_headers = st.builds(
    Header,
    code=INT32,
    opaque=INT32,
    flag=INT32,
    language=TEXT,
    version=INT32,
    remark=st.none() | TEXT,
    ext=st.none() | st.dictionaries(TEXT, TEXT, max_size=5),
)
binary_headers = st.builds(
    Header,
    code=INT16,
    opaque=INT32,
    flag=INT32,
    language=st.sampled_from(sorted(LANGUAGES.values())),
    version=INT16,
    remark=st.none() | st.text(min_size=1, max_size=20),
    ext=st.none() | st.dictionaries(TEXT, st.text(min_size=1, max_size=20), min_size=1, max_size=5),
)


def read(text: str) -> Header:
    return decode_header(text.encode(), SerializeType.JSON)


def build(header: Header) -> bytes:
    """Write a ROCKETMQ header by its declaration."""
    data: bytes = BINARY_HEADER.build(
        {
            "code": header.code,
            "language": next(key for key, name in LANGUAGES.items() if name == header.language),
            "version": header.version,
            "opaque": header.opaque,
            "flag": header.flag,
            "remark": (header.remark or "").encode(),
            "ext": [{"key": key.encode(), "value": value.encode()} for key, value in (header.ext or {}).items()],
        }
    )
    return data


@given(json_headers)
def test_json_round_trip(header: Header) -> None:
    assert decode_header(memoryview(encode_header(header, 0)), 0) == header


@given(json_headers)
def test_json_is_plain_json_in_apache_s_order(header: Header) -> None:
    found = json.loads(encode_header(header, 0))
    assert list(found) == sorted(found)
    assert found["serializeTypeCurrentRPC"] == "JSON"
    assert found.get("extFields") == header.ext
    assert ("remark" in found) is (header.remark is not None)


@given(binary_headers)
def test_binary_round_trip_and_equal_to_the_declaration(header: Header) -> None:
    data = encode_header(header, 1)
    assert decode_header(data, 1) == header
    assert build(header) == data
    assert BINARY_HEADER.parse(data).opaque == header.opaque


def test_absent_keys_take_the_defaults() -> None:
    assert read("{}") == Header(code=0, opaque=0)
    assert read('{"code":34,"opaque":5}') == Header(
        code=34, opaque=5, flag=0, language="JAVA", version=0, remark=None, ext=None
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"code":"105","opaque":1}', {"code": 105}),
        ('{"code":105.0,"opaque":1}', {"code": 105}),
        ("{code:105,opaque:1}", {"code": 105}),
        ("{'code':105,'opaque':1,'remark':'it''s'}".replace("''", "\\'"), {"code": 105, "remark": "it's"}),
        ('{"code":1,"opaque":1,"extFields":{"n":5,"t":true,"f":1.5,"x":null,"s":"y"}}',
         {"code": 1, "ext": {"n": "5", "t": "true", "f": "1.5", "s": "y"}}),
        ('{"code":1,"opaque":1,"extFields":{7:"y"}}', {"code": 1, "ext": {"7": "y"}}),
        ('{"code":1,"opaque":1,"language":null,"flag":null,"remark":7}', {"code": 1, "remark": "7"}),
        ('{"code":1,"opaque":1,"language":12}', {"code": 1, "language": "12"}),
        ('{"code":1,"opaque":1,"remark":"\\ud83d"}', {"code": 1, "remark": "\ufffd"}),
    ],
)  # fmt: skip
def test_what_fastjson_takes_is_taken(text: str, expected: dict[str, Any]) -> None:
    assert read(text) == Header(opaque=1, **expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "GET / HTTP/1.1",
        "[]",
        "null",
        '{"code":1',
        '{"code":"x"}',
        '{"code":2147483648}',
        '{"code":-2147483649}',
        '{"code":{}}',
        '{"code":1,"opaque":1,"extFields":[]}',
        '{"code":1,"opaque":1,"extFields":{"a":{}}}',
        '{"code":1,"opaque":1,"extFields":{{"a":1}:"x"}}',
        '{"code":1,"opaque":1,"remark":[]}',
        '{"code":1,"opaque":1,"language":{}}',
        "{'code':1,'opaque':1,'remark':'" + "x" * (1 << 18) + "'}",
    ],
)
def test_what_is_no_header_is_refused(text: str) -> None:
    with pytest.raises(HeaderInvalid, match=r"^header (is|has) "):
        read(text)


def test_unknown_types_are_refused() -> None:
    with pytest.raises(SerializeTypeUnknown, match="serialize type 2 is unknown") as caught:
        decode_header(b"{}", 2)
    assert caught.value.serialize_type == 2
    with pytest.raises(SerializeTypeUnknown):
        encode_header(Header(code=0, opaque=0), 2)


@pytest.mark.parametrize("serialize_type", list(SerializeType))
@pytest.mark.parametrize("fields", [{"remark": "\ud83d"}, {"ext": {"\ud83d": "a"}}, {"ext": {"a": "\ud83d"}}])
def test_half_a_character_cannot_be_written(serialize_type: int, fields: dict[str, Any]) -> None:
    with pytest.raises(HeaderInvalid, match="header cannot be written"):
        encode_header(Header(code=0, opaque=0, **fields), serialize_type)


@pytest.mark.parametrize(
    "fields", [{"code": 200050}, {"version": 40000}, {"ext": {"k" * 40000: ""}}, {"opaque": 1 << 40}]
)
def test_what_does_not_fit_the_binary_type_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(HeaderInvalid, match="does not fit the ROCKETMQ type"):
        encode_header(Header(**({"code": 0, "opaque": 0} | fields)), 1)


def test_an_unknown_language_is_other() -> None:
    data = encode_header(Header(code=0, opaque=0, language="COBOL"), 1)
    assert decode_header(data, 1).language == "OTHER"
    assert decode_header(data[:2] + b"\x7f" + data[3:], 1).language == "OTHER"


def test_an_empty_binary_remark_is_none() -> None:
    assert decode_header(encode_header(Header(code=0, opaque=0, remark="", ext={}), 1), 1).remark is None


@pytest.mark.parametrize(
    ("entries", "ext"),
    [
        ([("a", "")], None),
        ([("a", ""), ("b", "x")], {"b": "x"}),
        ([("a", "x"), ("a", "")], None),
        ([("a", ""), ("a", "x")], {"a": "x"}),
    ],
)
def test_an_empty_value_in_a_binary_header_is_none(entries: list[tuple[str, str]], ext: dict[str, str] | None) -> None:
    fixed = {"code": 1, "language": 0, "version": 0, "opaque": 2, "flag": 0, "remark": b""}
    data = BINARY_HEADER.build(
        {**fixed, "ext": [{"key": key.encode(), "value": value.encode()} for key, value in entries]}
    )
    assert decode_header(data, 1).ext == ext


def test_bad_utf_8_in_a_binary_header_is_replaced() -> None:
    data = encode_header(Header(code=0, opaque=0, remark="x"), 1).replace(b"x", b"\xff")
    assert decode_header(data, 1).remark == "\ufffd"


@pytest.mark.parametrize(("flag", "response", "oneway"), [(0, False, False), (1, True, False), (2, False, True)])
def test_flags(flag: int, response: bool, oneway: bool) -> None:
    header = Header(code=0, opaque=0, flag=flag)
    assert (header.is_response, header.is_oneway) == (response, oneway)


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (13, b"\xff\xff\xff\xff", "a text of -1 bytes"),
        (13, b"\x00\x00\x01\x00", "a text of 256 bytes where"),
        (17, b"\x00\x00\x00\x08", "extFields of 8 bytes in 9"),
        (21, b"\x00\x09", "a text of 9 bytes where 7 are left"),
        (21, b"\x00\x06", "cut short"),
    ],
)
def test_lengths_in_a_binary_header_that_do_not_fit(at: int, value: bytes, message: str) -> None:
    data = bytearray(encode_header(Header(code=0, opaque=0, ext={"key": ""}), 1))
    data[at : at + len(value)] = value
    with pytest.raises(HeaderInvalid, match=message):
        decode_header(bytes(data), 1)


@pytest.mark.parametrize("size", [0, 16, 17, 20])
def test_a_binary_header_that_is_cut_short(size: int) -> None:
    with pytest.raises(HeaderInvalid, match=f"ROCKETMQ header of {size} bytes is cut short"):
        decode_header(encode_header(Header(code=0, opaque=0), 1)[:size], 1)


# --- limits ---


def header_of(fields: int, *, value: str = "", remark: str | None = None) -> Header:
    ext = {f"f{number}": value for number in range(fields)}
    return Header(code=41, opaque=7, flag=1, version=407, remark=remark, ext=ext)


@pytest.mark.parametrize("kind", list(SerializeType))
def test_a_header_has_so_many_fields_and_no_more(kind: SerializeType) -> None:
    full = header_of(MAX_HEADER_FIELDS, value=",,{{[[", remark="a,b")
    data = encode_header(full, kind)
    assert decode_header(data, kind) == full
    data = encode_header(header_of(MAX_HEADER_FIELDS + 1, remark=","), kind)
    with pytest.raises(
        HeaderTooLarge, match=rf"^header of request 41 is too large, headerFields={MAX_HEADER_FIELDS}$"
    ) as got:
        decode_header(data, kind)
    assert (got.value.code, got.value.opaque, got.value.flag) == (41, 7, 1)
    assert (got.value.limit, got.value.most) == ("headerFields", MAX_HEADER_FIELDS)


@pytest.mark.parametrize("kind", list(SerializeType))
def test_a_header_has_so_many_bytes_and_no_more(kind: SerializeType) -> None:
    room = MAX_HEADER_BYTES - len(encode_header(header_of(1), kind))
    longest = header_of(1, value="x" * room)
    data = encode_header(longest, kind)
    assert len(data) == MAX_HEADER_BYTES
    assert decode_header(data, kind) == longest
    data = encode_header(header_of(1, value="x" * (room + 1)), kind)
    with pytest.raises(HeaderTooLarge, match=f"headerBytes={MAX_HEADER_BYTES}$") as got:
        decode_header(memoryview(data), kind)
    assert (got.value.code, got.value.opaque, got.value.flag) == (41, 7, 1)


@pytest.mark.parametrize("fields", [MAX_HEADER_FIELDS + 10, 300_000])
def test_a_header_that_is_too_large_and_no_plain_json_cannot_be_answered(fields: int) -> None:
    text = "{code:41,opaque:7,extFields:{" + ",".join(f"f{n}:1" for n in range(fields)) + "}}"
    with pytest.raises(HeaderInvalid, match="no plain JSON") as got:
        read(text)
    assert not isinstance(got.value, HeaderTooLarge)


def test_the_lenient_reader_counts_fields_of_texts_that_hide_them() -> None:
    text = "{code:41,'a\"b':1,extFields:{" + ",".join(f"f{n}:1" for n in range(2000)) + "}}"
    with pytest.raises(HeaderInvalid, match="more entries"):
        read(text)


@pytest.mark.parametrize("depth", [900, 1005, 60_000])
def test_a_header_nested_too_deep_is_refused(depth: int) -> None:
    data = b'{"code":34,"x":' + b"[" * depth + b"]" * depth + b"}"
    with pytest.raises(HeaderInvalid, match=r"nested too deep|no plain JSON"):
        decode_header(data, 0)
