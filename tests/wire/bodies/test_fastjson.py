import json
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.wire.bodies import fastjson
from rocketwire.wire.bodies.client import MessageQueue
from rocketwire.wire.bodies.fastjson import (
    ObjectKey,
    dumps,
    dumps_pretty,
    encode_in_steps,
    loads,
    pretty_entry,
    to_bool,
    to_float,
    to_int32,
    to_int64,
    to_text,
)
from rocketwire.wire.errors import BodyInvalid
from tests.stepping import finished

scalars = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False)
)
plain = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
)
object_keys = st.dictionaries(st.text(max_size=3), scalars, max_size=3).map(
    lambda value: ObjectKey(sorted(value.items()))
)
keys = st.text(max_size=5) | st.integers(-(10**12), 10**12) | object_keys
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4))
QUEUE = ObjectKey((("brokerName", "b"), ("queueId", 1), ("topic", "t")))


@given(plain)
def test_plain_json_is_json(value: Any) -> None:
    assert json.loads(dumps(value)) == value
    assert json.loads(dumps(value, strict=True)) == value
    assert loads(json.dumps(value)) == value


@given(values)
def test_round_trip(value: Any) -> None:
    assert loads(dumps(value)) == value
    assert loads(dumps_pretty(value)) == value
    json.loads(dumps(value, strict=True))


@given(st.text(max_size=100) | st.text(st.sampled_from("{}[]:,\"'\\a1 -.eu0t"), max_size=30))
@example("[" * 100000)
@example('{"a":' * 5000)
@example("{" * 5000)
@example("9" * 5000)
@example("{1:" + "9" * 5000 + "}")
@example("1e999")
@example("{1:1e999}")
@example("'\\ud83d\\ude00'")
@example("'\\u12'")
@example("'\\")
def test_any_text_is_a_value_or_an_error(text: str) -> None:
    try:
        loads(text)
    except BodyInvalid as error:
        assert "JSON is invalid at character" in str(error)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{0:"a",-1:"b"}', {0: "a", -1: "b"}),
        ("{1.5:2}", {1.5: 2}),
        ('{{"topic":"t","queueId":1,"brokerName":"b"}:5}', {QUEUE: 5}),
        ("{{}:1}", {ObjectKey(): 1}),
        ('{{"a":[1,{"b":2}]}:1}', {ObjectKey((("a", (1, ObjectKey((("b", 2),)))),)): 1}),
        ("{'a':'b\"c'}", {"a": 'b"c'}),
        ("{a:true,b_2:false,$c:null}", {"a": True, "b_2": False, "$c": None}),
        ("{1:[],2:{},3:[1,2.5,-3e2]}", {1: [], 2: {}, 3: [1, 2.5, -300.0]}),
        (" { 1 : [ 1 , 2 ] } ", {1: [1, 2]}),
        (r"""{1:'\n\t\r\b\f\v\0\\\/\"\'A'}""", {1: "\n\t\r\b\f\v\0\\/\"'A"}),
        ('{1:"é"}', {1: "é"}),
        (r"{1:'\ud83d\ude00'}", {1: "😀"}),
        (r"{1:'\ud83d!'}", {1: "�!"}),
        ("'text'", "text"),
        ("+5", 5),
    ],
)
def test_what_fastjson_reads(text: str, value: Any) -> None:
    assert loads(text) == value
    assert loads(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[",
        "{1:1",
        "[1,'a'",
        "{1}",
        "{1:1 2:2}",
        "{1:1}x",
        "{1:tru}",
        "{1:}",
        "'a",
        "'\\",
        r"'\x'",
        r"'\u12g4'",
        "-",
        "{1:1,}",
        "[1,]",
        "[1:2]",
        "{[]:1}",
        "{:1}",
        "{" * 65,
        "{1:" + "9" * 41 + "}",
    ],
)
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(BodyInvalid, match="JSON is invalid at character"):
        loads(text)


def test_only_plain_json_may_be_long_where_there_is_a_limit() -> None:
    plain, other = '{"a":"%s"}', '{1:"%s"}'
    assert loads(plain % ("x" * 100), lenient_limit=50) == {"a": "x" * 100}
    assert loads(other % ("x" * 44), lenient_limit=50) == {1: "x" * 44}
    with pytest.raises(BodyInvalid, match=r"^51 bytes are no plain JSON, and too many for another: "):
        loads((other % ("x" * 45)).encode(), lenient_limit=50)
    assert loads(other % ("x" * 10_000_000)) == {1: "x" * 10_000_000}


def test_bad_utf_8_is_replaced() -> None:
    assert loads(b'{"a":"\xff"}') == {"a": "�"}


@pytest.mark.parametrize(
    ("value", "text", "strict"),
    [
        ({"b": 1, "a": None}, '{"b":1}', '{"b":1}'),
        ({"b": 1, "a": 2}, '{"b":1,"a":2}', '{"a":2,"b":1}'),
        ({10: 1, 9: 2}, "{10:1,9:2}", '{"10":1,"9":2}'),
        (
            {QUEUE: 5},
            '{{"brokerName":"b","queueId":1,"topic":"t"}:5}',
            '{"{\\"brokerName\\":\\"b\\",\\"queueId\\":1,\\"topic\\":\\"t\\"}":5}',
        ),
        (
            {MessageQueue(topic="t", broker_name="b", queue_id=1): 5},
            '{{"brokerName":"b","queueId":1,"topic":"t"}:5}',
            '{"{\\"brokerName\\":\\"b\\",\\"queueId\\":1,\\"topic\\":\\"t\\"}":5}',
        ),
        ([MessageQueue(topic="t")], *['[{"brokerName":"","queueId":0,"topic":"t"}]'] * 2),
        ((1, 0.0, True, "消"), *['[1,0.0,true,"消"]'] * 2),
        (frozenset({1}), "[1]", "[1]"),
        (None, "null", "null"),
    ],
)
def test_what_is_written(value: Any, text: str, strict: str) -> None:
    assert dumps(value).decode() == text
    assert dumps(value, strict=True).decode() == strict


@given(st.dictionaries(keys, values, max_size=4), st.integers(0, 3))
def test_what_is_written_in_steps_is_the_same(value: dict[Any, Any], most: int) -> None:
    former, fastjson._PARTS_OF_STEP = fastjson._PARTS_OF_STEP, most  # type: ignore[misc]
    try:
        assert finished(encode_in_steps(value))[0] == dumps_pretty(value)
        assert finished(encode_in_steps(value, pretty=False))[0] == dumps(value)
    finally:
        fastjson._PARTS_OF_STEP = former  # type: ignore[misc]


def test_the_form_of_5_5_has_a_line_for_each_key() -> None:
    text, _ = finished(encode_in_steps({"a": {0: {1: [2, 3]}, 4: {}}, "b": 5}, newer=True))
    assert text == b'{\n\t"a":{\n\t\t0:{\n\t\t\t1:[2,3]\n\t\t},\n\t\t4:{}\n\t},\n\t"b":5\n}'


def test_a_large_object_is_written_in_many_steps() -> None:
    table = {f"key{number}": {number: number} for number in range(10_000)}
    text, count = finished(encode_in_steps({"table": {"within": table}, "last": None}))
    assert text == dumps_pretty({"table": {"within": table}})
    assert count > 10


def test_what_changes_between_the_steps_is_written_as_it_is_then() -> None:
    table = {number: number for number in range(5000)}

    def change() -> None:
        table.pop(4998, None)
        table[4999] = -1
        table[5000] = 5000

    text, _ = finished(encode_in_steps({"table": table}), change)
    assert loads(text)["table"] == {**{number: number for number in range(4998)}, 4999: -1}


@given(st.text(max_size=5), values)
def test_an_entry_is_a_part_of_the_text_around_it(key: str, value: Any) -> None:
    assert dumps_pretty({key: value}) == b"{" + pretty_entry(key, value, 1) + b"\n}"
    assert dumps_pretty({"a": {key: value}}) == b'{\n\t"a":{' + pretty_entry(key, value, 2) + b"\n\t}\n}"


@dataclass
class NotABody:
    needs: int


@pytest.mark.parametrize("value", [object(), {"a": object()}, "\ud83d", {"\ud83d": 1}, NotABody(needs=1)])
def test_what_cannot_be_written(value: Any) -> None:
    for write in (
        dumps,
        dumps_pretty,
        lambda value: pretty_entry("a", value, 1),
        lambda value: finished(encode_in_steps({"a": value})),
    ):
        with pytest.raises(BodyInvalid, match="body cannot be written"):
            write(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ([], "[]"),
        ({"a": {}, "b": []}, '{\n\t"a":{},\n\t"b":[]\n}'),
        ({"a": {0: 12, 1: 13}}, '{\n\t"a":{0:12,1:13\n\t}\n}'),
        ({"a": [1, 2]}, '{\n\t"a":[1,2]\n}'),
        ({"a": ["x", "y"]}, '{\n\t"a":[\n\t\t"x",\n\t\t"y"\n\t]\n}'),
        ({"a": None}, "{}"),
    ],
)
def test_pretty_text(value: Any, text: str) -> None:
    assert dumps_pretty(value).decode() == text


@pytest.mark.parametrize(
    ("convert", "value", "expected"),
    [
        (to_text, "a", "a"),
        (to_text, 5, "5"),
        (to_text, 1.5, "1.5"),
        (to_text, True, "true"),
        (to_text, False, "false"),
        (to_int32, 2**31 - 1, 2**31 - 1),
        (to_int32, "-2147483648", -(2**31)),
        (to_int64, 2**63 - 1, 2**63 - 1),
        (to_int64, str(-(2**63)), -(2**63)),
        (to_int32, 5, 5),
        (to_int32, "5", 5),
        (to_int32, " -5 ", -5),
        (to_int32, 5.9, 5),
        (to_int32, True, 1),
        (to_float, 5, 5.0),
        (to_float, "0.5", 0.5),
        (to_bool, True, True),
        (to_bool, 0, False),
        (to_bool, "TRUE", True),
        (to_bool, "1", True),
        (to_bool, "false", False),
        (to_bool, "0", False),
    ],
)
def test_conversions(convert: Any, value: Any, expected: Any) -> None:
    result = convert(value)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("convert", "value"),
    [
        (to_text, []),
        (to_text, None),
        (to_int32, "x"),
        (to_int32, []),
        (to_int32, float("inf")),
        (to_int32, 2**31),
        (to_int32, -(2**31) - 1),
        (to_int32, "99999999999999999999"),
        (to_int32, 1e10),
        (to_int64, 2**63),
        (to_int64, -(2**63) - 1),
        (to_int64, "9" * 40),
        (to_int64, 1e30),
        (to_int32, ""),
        (to_float, "x"),
        (to_float, 10**400),
        (to_float, []),
        (to_bool, "x"),
        (to_bool, None),
    ],
)
def test_values_that_are_of_another_kind(convert: Any, value: Any) -> None:
    with pytest.raises(ValueError, match=r"is no|too large|could not convert"):
        convert(value)


def test_keys_that_are_objects_are_hashable() -> None:
    assert {QUEUE: 1}[ObjectKey(QUEUE)] == 1
    assert msgspec.json.decode(dumps(dict(QUEUE))) == dict(QUEUE)


def test_numbers_that_are_no_integers_are_read_as_python_reads_them() -> None:
    assert loads(b"[1.7976931348623157e308,2.2250738585072011e-308,-0.5]") == [
        1.7976931348623157e308,
        2.2250738585072011e-308,
        -0.5,
    ]
    with pytest.raises(BodyInvalid, match="number of 43 characters is too long"):
        loads(b"[1." + b"1" * 41 + b"]")
