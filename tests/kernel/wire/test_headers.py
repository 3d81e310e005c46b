"""Headers are read as wire.header reads them, or left to it."""

import json
import re

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rocketwire._kernel import read_header, read_offset, unescape
from rocketwire.wire.errors import HeaderTooLarge
from rocketwire.wire.facts.codes import LANGUAGES
from rocketwire.wire.header import MAX_HEADER_BYTES, Header, decode_header, encode_header
from rocketwire.wire.header import MAX_HEADER_FIELDS as MOST_READ
from tests.wire import golden

MOST_FIELDS = 24
JSON, BINARY = 0, 1
int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
word = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=20)
json_headers = st.builds(
    Header,
    code=int32,
    opaque=int32,
    flag=int32,
    language=word,
    version=int32,
    remark=st.none() | word,
    ext=st.none() | st.dictionaries(word, text, max_size=MOST_FIELDS + 1),
)
binary_headers = st.builds(
    Header,
    code=int16,
    opaque=int32,
    flag=int32,
    language=st.sampled_from(sorted(LANGUAGES.values())),
    version=int16,
    remark=st.none() | text,
    ext=st.none() | st.dictionaries(text, text.filter(bool), max_size=MOST_FIELDS + 1),
)


def check(data: bytes, serialize_type: int) -> bool:
    """What is taken is what Python reads; tell whether it is taken."""
    found = read_header(data, serialize_type)
    if found is None:
        return False
    code, flag, opaque, fields = found
    texts = {name: unescape(value) if escaped else value for name, value, escaped in fields}
    if None in texts.values():  # whoever needs such a field hands the request over
        return False
    header = decode_header(data, serialize_type)
    assert (header.code, header.flag, header.opaque) == (code, flag, opaque)
    assert (header.ext or {}) == {name.decode(): value.decode() for name, value in texts.items() if value is not None}
    return True


@given(json_headers)
def test_a_json_header_as_encoded_is_taken(header: Header) -> None:
    assert check(encode_header(header, JSON), JSON) is (len(header.ext or {}) <= MOST_FIELDS)


@given(binary_headers)
def test_a_binary_header_as_encoded_is_taken(header: Header) -> None:
    assert check(encode_header(header, BINARY), BINARY) is (len(header.ext or {}) <= MOST_FIELDS)


@given(binary_headers, text)
def test_a_binary_header_with_an_empty_value_is_left_to_python(header: Header, name: str) -> None:
    # There it is as if it were missing.
    ext = dict([*(header.ext or {}).items()][: MOST_FIELDS - 1]) | {name: ""}
    assert not check(encode_header(msgspec.structs.replace(header, ext=ext), BINARY), BINARY)


@given(json_headers, st.permutations(range(8)), st.booleans())
def test_the_order_of_keys_does_not_matter(header: Header, order: list[int], line_end: bool) -> None:
    items = list(json.loads(encode_header(header, JSON)).items())
    mixed = dict(items[number] for number in order if number < len(items))
    data = json.dumps(mixed, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" * line_end
    assert check(data, JSON) is (len(header.ext or {}) <= MOST_FIELDS)


@given(st.data())
def test_a_damaged_header_is_read_as_python_reads_it_or_left_to_it(data: st.DataObject) -> None:
    serialize_type = data.draw(st.sampled_from([JSON, BINARY]))
    header = data.draw(binary_headers if serialize_type else json_headers)
    raw = bytearray(encode_header(header, serialize_type))
    special = st.sampled_from(b'"\\{}:,u0-\x00\x1f \n\xc3\xed\xa0\xff') | st.integers(0, 255)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw)))
        raw[at : at + data.draw(st.integers(0, 2))] = bytes(data.draw(st.lists(special, max_size=2)))
    check(bytes(raw), serialize_type)


@given(st.data())
def test_a_header_that_is_cut_anywhere_is_left_to_python(data: st.DataObject) -> None:
    serialize_type = data.draw(st.sampled_from([JSON, BINARY]))
    raw = encode_header(data.draw(binary_headers if serialize_type else json_headers), serialize_type)
    for end in range(len(raw)):
        assert read_header(raw[:end], serialize_type) is None


@given(st.binary(max_size=200), st.integers(0, 255))
def test_any_bytes_are_read_as_python_reads_them_or_left_to_it(data: bytes, serialize_type: int) -> None:
    check(data, serialize_type)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b'{"code":1}',
        b'{"opaque":1}',
        b'{"code":1,"opaque":1',
        b'{"code":1,"opaque":1}x',
        b'{"code":1,"opaque":1}\n\n',
        b'{"code":1,"opaque":1,}',
        b'{,"code":1,"opaque":1}',
        b'{"code": 1,"opaque":1}',
        b' {"code":1,"opaque":1}',
        b'{"code":1,"opaque":1,"code":1}',
        b'{"code":1,"opaque":1,"more":1}',
        b'{"code":1,"opaque":1,"":1}',
        b'{"code":1,"opaque":}',
        b'{"code":1,"opaque":-}',
        b'{"code":1,"opaque":-0}',
        b'{"code":1,"opaque":01}',
        b'{"code":1,"opaque":+1}',
        b'{"code":1,"opaque":1.0}',
        b'{"code":1,"opaque":1e0}',
        b'{"code":1,"opaque":"1"}',
        b'{"code":1,"opaque":null}',
        b'{"code":1,"opaque":2147483648}',
        b'{"code":1,"opaque":-2147483649}',
        b'{"code":1,"opaque":1,"version":2147483648}',
        b'{"code":1,"opaque":1,"flag":true}',
        b'{"code":1,"opaque":1,"language":null}',
        b'{"code":1,"opaque":1,"language":12}',
        b'{"code":1,"opaque":1,"language":"\\u0041"}',
        b'{"code":1,"opaque":1,"remark":null}',
        b'{"code":1,"opaque":1,"remark":"a\\n"}',
        b'{"code":1,"opaque":1,"remark":"a\nb"}',
        b'{"code":1,"opaque":1,"remark":"a\xff"}',
        b'{"code":1,"opaque":1,"remark":"\xc0\x80"}',
        b'{"code":1,"opaque":1,"remark":"\xed\xa0\x80"}',
        b'{"code":1,"opaque":1,"remark":"\xf4\x90\x80\x80"}',
        b'{"code":1,"opaque":1,"remark":"\xe2\x82"}',
        b'{"code":1,"opaque":1,"remark":"a}',
        b'{"c\\u006fde":1,"opaque":1}',
        b'{"code":1,"opaque":1,"extFields":null}',
        b'{"code":1,"opaque":1,"extFields":[]}',
        b'{"code":1,"opaque":1,"extFields":{"a":1}}',
        b'{"code":1,"opaque":1,"extFields":{"a":null}}',
        b'{"code":1,"opaque":1,"extFields":{"a":"b",}}',
        b'{"code":1,"opaque":1,"extFields":{"a":"b"}',
        b'{"code":1,"opaque":1,"extFields":{"\\u0061":"b"}}',
        b'{"code":1,"opaque":1,"extFields":{"a":"b\\',
        b'{"code":1,"opaque":1,"extFields":{"a":"b\\"',
        b'{"code":1,"opaque":1,"extFields":{"a":"b\\\xc3\xa9"}}',
        b"{'code':1,'opaque':1}",
        b"{code:1,opaque:1}",
        b"[]",
    ],
)
def test_json_that_no_official_client_writes_is_left_to_python(data: bytes) -> None:
    assert read_header(data, JSON) is None


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (13, b"\xff\xff\xff\xff"),  # length of the remark
        (13, b"\x00\x00\x01\x00"),
        (17, b"\x00\x00\x00\x09"),  # of all fields
        (17, b"\x00\x00\x00\x0b"),
        (21, b"\x00\x09"),  # of a name
        (21, b"\x00\x04"),
        (21, b"\xff\xff"),
        (26, b"\x80\x00\x00\x00"),  # of a value
        (26, b"\x00\x00\x00\x02"),
        (23, b"\xff"),  # the name
    ],
)
def test_binary_headers_whose_lengths_or_texts_are_wrong_are_left_to_python(at: int, value: bytes) -> None:
    data = bytearray(encode_header(Header(code=0, opaque=0, ext={"key": "x"}), BINARY))
    assert check(bytes(data), BINARY)
    data[at : at + len(value)] = value
    assert read_header(data, BINARY) is None


@pytest.mark.parametrize("serialize_type", [2, 128, 255])
def test_other_types_are_left_to_python(serialize_type: int) -> None:
    assert read_header(b'{"code":1,"opaque":1}', serialize_type) is None


def test_all_golden_headers_are_taken() -> None:
    taken: list[bool] = []
    for capture in golden.captures():
        for _, data, row in golden.frames(capture):
            header = data[8 : 8 + row["headerLength"]]
            kind = BINARY if row["serializer"] == "ROCKETMQ" else JSON
            took = check(header, kind)
            # Answers may hold more than a request: remarks with line ends, dozens of fields.
            if row["kind"] != "response":
                taken.append(took)
    assert len(taken) > 1000
    assert sum(taken) > 0.99 * len(taken)


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
        "\\u0000",
        "\\u00e9",
        "\\u540D",
        "\\uD83D\\uDe00",
    ]
)
_odd_escapes = st.sampled_from(
    ["\\", "\\x", "\\u", "\\u12", "\\u12g4", "\\ud83d", "\\ude00", "\\ud83d\\u0041", "\\ud83d\\n"]
)
_ends = st.sampled_from(["a", "é", "€", "😀", "x" * 15, "y" * 16, "z" * 17])


def check_unescaped(raw: bytes) -> None:
    try:
        expected = msgspec.json.decode(b'"' + raw + b'"', type=str).encode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        expected = None
    assert unescape(raw) == expected


@given(st.lists(_escapes | _ends | text.map(lambda value: json.dumps(value)[1:-1]), max_size=12))
def test_escapes_are_undone_as_msgspec_undoes_them(parts: list[str]) -> None:
    raw = "".join(parts).encode()
    check_unescaped(raw)
    assert unescape(raw) is not None


@given(st.lists(_escapes | _odd_escapes | _ends, max_size=6))
@example(["x" * 40, "\\ud83d"])
def test_odd_escapes_are_left_to_python(parts: list[str]) -> None:
    check_unescaped("".join(parts).encode())


@given(st.binary(max_size=40))
@example(b"\x1f")
@example(b"0123456789abcdef\xc3")
def test_any_bytes_are_unescaped_as_msgspec_does(raw: bytes) -> None:
    assume(b'"' not in raw.replace(b"\\\\", b"").replace(b'\\"', b""))
    check_unescaped(raw)


def test_bare_quotes_are_no_text() -> None:
    assert unescape(b'a"b') is None


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

    def read(queue_id: str, offset: str) -> tuple[str, str, int, int] | None:
        ext = {"consumerGroup": "g", "topic": "t", "queueId": queue_id, "commitOffset": offset}
        return read_offset(encode_header(Header(code=15, opaque=1, ext=ext), JSON), JSON)

    wide = read("0", number)
    assert wide == (("g", "t", 0, int(number)) if plain and -(2**63) <= int(number) < 2**63 else None)
    narrow = read(number, "0")
    assert narrow == (("g", "t", int(number), 0) if plain and -(2**31) <= int(number) < 2**31 else None)


@pytest.mark.parametrize("kind", [JSON, BINARY])
def test_a_header_that_is_too_large_is_left_to_python_which_refuses_it(kind: int) -> None:
    def header(fields: int, value: str = "") -> bytes:
        ext = {f"f{number}": value for number in range(fields)}
        return encode_header(Header(code=310, opaque=1, ext=ext), kind)

    room = MAX_HEADER_BYTES - len(header(1))
    assert check(header(1, "x" * room), kind)
    for refused in (header(1, "x" * (room + 1)), header(MOST_READ + 8)):
        assert read_header(refused, kind) is None
        with pytest.raises(HeaderTooLarge):
            decode_header(refused, kind)
    assert read_header(header(MOST_FIELDS + 1), kind) is None  # which Python reads
