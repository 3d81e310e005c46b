"""Types and values of Avro, without Spark: compat_tests/spark/test_bodies.py has what Spark makes of them."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import pickle
import uuid
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest

from rocketwire.spark.bodies.avro_bodies import AvroDecoder, from_avro_body, type_of
from rocketwire.spark.bodies.decoding import text_of
from rocketwire.spark.bodies.registry import RegisteredSchema, SchemaRegistry
from rocketwire.spark.errors import BodyMalformed, OptionInvalid, RegistryFailed
from tests.spark.bodies.registry_server import Fake, registry

NODE = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}


def logical(kind: str, name: str, **more: object) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


def made(schema: object, *references: str) -> RegisteredSchema:
    return RegisteredSchema(text=json.dumps(schema), kind="AVRO", references=references)


def written(schema: Any, value: object) -> bytes:
    to = io.BytesIO()
    fastavro.schemaless_writer(to, fastavro.parse_schema(schema), value)
    return to.getvalue()


def value_in(schema: Any, body: bytes) -> Any:
    text = text_of(AvroDecoder(made(schema), None), body, strict=True)
    assert text is not None
    return json.loads(text)["value"]


NOON = dt.datetime(2026, 1, 2, 12, 0, 0, 123000, tzinfo=dt.UTC)
CASES: list[tuple[object, object, str, object]] = [
    ("int", 3, "int", 3),
    ("long", -(1 << 62), "bigint", -(1 << 62)),
    ("double", 0.1, "double", 0.1),
    ("boolean", True, "boolean", True),
    ("string", "é", "string", "é"),
    ("bytes", b"\xff\0", "binary", "/wA="),
    ({"type": "fixed", "name": "F", "size": 2}, b"ab", "binary", "YWI="),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "string", "B"),
    ({"type": "array", "items": "int"}, [1, 2], "array<int>", [1, 2]),
    ({"type": "map", "values": "long"}, {"a": 1}, "map<string,bigint>", {"a": 1}),
    (["null", "int"], None, "int", None),
    (["int", "null"], 4, "int", 4),
    (["null"], None, "void", None),
    (["int", "long"], 1 << 40, "bigint", 1 << 40),
    (["double", "float"], 0.5, "double", 0.5),
    (["string", "int"], 5, "string", 5),
    (["string", {"type": "array", "items": "int"}], [5], "string", [5]),
    (logical("int", "date"), dt.date(2026, 1, 2), "date", "2026-01-02"),
    (logical("long", "timestamp-millis"), NOON, "timestamp", "2026-01-02T12:00:00.123000+00:00"),
    (logical("long", "timestamp-micros"), NOON, "timestamp", "2026-01-02T12:00:00.123000+00:00"),
    (
        logical("long", "local-timestamp-millis"),
        NOON.replace(tzinfo=None),
        "timestamp_ntz",
        "2026-01-02T12:00:00.123000",
    ),
    (logical("int", "time-millis"), dt.time(1, 2, 3), "string", "01:02:03"),
    (logical("string", "uuid"), uuid.UUID(int=1), "string", str(uuid.UUID(int=1))),
    (logical("bytes", "decimal", precision=9, scale=2), decimal.Decimal("12.30"), "decimal(9,2)", "12.30"),
    (logical("bytes", "decimal", precision=39), decimal.Decimal(5), "binary", "5"),
    (logical("string", "of-somebody"), "x", "string", "x"),
    (NODE, {"next": {"next": None}}, "struct<next:string>", {"next": {"next": None}}),
]


@pytest.mark.parametrize(("schema", "value", "kind", "read"), CASES)
def test_types_and_values(schema: object, value: object, kind: str, read: object) -> None:
    assert type_of(made(schema)).simpleString() == kind
    assert value_in(schema, written(schema, value)) == read


def test_names_are_found_in_references() -> None:
    inner = {"type": "record", "name": "a.B", "fields": [{"name": "x", "type": "int"}]}
    outer = {"type": "record", "name": "a.C", "fields": [{"name": "one", "type": "B"}, {"name": "two", "type": "a.B"}]}
    kind = type_of(made(outer, json.dumps(inner)))
    assert kind.simpleString() == "struct<one:struct<x:int>,two:struct<x:int>>"


@pytest.fixture
def fake() -> Iterator[Fake]:
    with registry() as found:
        yield found


def test_bodies_are_read_with_the_schema_they_were_written_with(fake: Fake) -> None:
    first = {"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]}
    second = {"type": "record", "name": "R", "fields": [{"name": "y", "type": "int", "default": 9}, *first["fields"]]}
    fake.add(1, first, subject="s")
    fake.add(2, second, subject="s", version=2)
    decoder = pickle.loads(pickle.dumps(AvroDecoder(made(second), SchemaRegistry(fake.url))))
    for _ in range(2):
        assert decoder(b"\0\0\0\0\1" + written(first, {"x": 3})) == {"x": 3, "y": 9}
        assert decoder(b"\0\0\0\0\2" + written(second, {"x": 3, "y": 4})) == {"x": 3, "y": 4}
    assert len(fake.requests) == 2


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"x", "does not begin"),
        (b"\0\0\0\0\1", "no value of its Avro schema"),
        (b"\0\0\0\0\1\2\2", "goes on"),
        (b"\0\0\0\0\3\2", "not of Avro"),
        (b"\0\0\0\0\4\2", "none of Avro"),
        (b"\0\0\0\0\5\2", "no value of its Avro schema"),
        (b"\0\0\0\0\x09\2", "Schema not found"),
    ],
)
def test_malformed_bodies(fake: Fake, body: bytes, says: str) -> None:
    fake.add(1, '"int"')
    fake.add(3, "message X", schemaType="PROTOBUF")
    fake.add(4, {"type": "nothing"})
    fake.add(5, '"boolean"')
    decoder = AvroDecoder(made("int"), SchemaRegistry(fake.url))
    with pytest.raises(BodyMalformed, match=says):
        text_of(decoder, body, strict=True)
    assert text_of(decoder, body, strict=False) is None


def test_a_registry_that_fails_ends_a_query_in_any_mode() -> None:
    with pytest.raises(RegistryFailed):
        text_of(AvroDecoder(made("int"), SchemaRegistry("http://127.0.0.1:1")), b"\0\0\0\0\1\2", strict=False)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "there is no schema"),
        ({"registry": "http://127.0.0.1:1"}, "there is no schema"),
        ({"schema": "{"}, "none of Avro"),
        ({"schema": "Unknown"}, "none of Avro"),
        ({"schema": '"int"', "mode": "DROPMALFORMED"}, "no mode DROPMALFORMED"),
    ],
)
def test_options(options: dict[str, Any], says: str) -> None:
    frame: Any = None
    with pytest.raises(OptionInvalid, match=says):
        from_avro_body(frame, **options)
