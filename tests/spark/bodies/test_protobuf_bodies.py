"""Types and values of Protobuf, without Spark: compat_tests/spark/test_bodies.py has what Spark makes of them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from rocketwire.spark.bodies.decoding import text_of
from rocketwire.spark.bodies.protobuf_bodies import ProtobufDecoder, from_protobuf_body
from rocketwire.spark.bodies.protobuf_values import spark_type
from rocketwire.spark.errors import BodyMalformed, OptionInvalid
from tests.spark.bodies.protobuf_messages import DESCRIPTORS, NAME, order

NOTHING = {
    "id": 0,
    "total": 0,
    "count": 0,
    "small": 0,
    "weight": 0.0,
    "paid": False,
    "raw": "",
    "note": None,
    "state": "NEW",
    "at": None,
    "items": [],
    "parts": [],
    "more": None,
    "counts": {},
    "share": 0.0,
}


def values(decoder: ProtobufDecoder, body: bytes) -> Any:
    text = text_of(decoder, body, strict=True)
    assert text is not None
    return json.loads(text)["value"]


def test_types() -> None:
    kind = spark_type(ProtobufDecoder.of(NAME, DESCRIPTORS, framed=False).descriptor())
    assert kind.simpleString() == (
        "struct<id:bigint,total:decimal(20,0),count:bigint,small:int,weight:double,paid:boolean,raw:binary,note:string,"
        "state:string,at:timestamp,items:array<string>,parts:array<string>,"
        "more:struct<fields:map<string,struct<null_value:string,number_value:double,string_value:string,"
        "bool_value:boolean,struct_value:string,list_value:struct<values:array<string>>>>>,"
        "counts:map<string,bigint>,share:float>"
    )


@pytest.mark.parametrize("by_class", [True, False])
def test_values(by_class: bool) -> None:
    message: Any = order()()
    found = (
        ProtobufDecoder.of(order(), None, framed=False)
        if by_class
        else ProtobufDecoder.of(NAME, DESCRIPTORS, framed=False)
    )
    decoder = pickle.loads(pickle.dumps(found))
    assert values(decoder, b"") == NOTHING
    message.id, message.total, message.count, message.small = -5, (1 << 64) - 1, 7, -1
    message.weight, message.share, message.paid, message.raw, message.note = 0.1, 0.5, True, b"\xff", ""
    message.at.FromJsonString("2026-01-02T03:04:05.123456789Z")
    message.items.extend(["a", "b"])
    message.parts.add(id=3)
    message.counts[4] = 1 << 40
    message.state = 1
    read = values(decoder, message.SerializeToString())
    assert read == NOTHING | {
        "id": -5,
        "total": (1 << 64) - 1,
        "count": 7,
        "small": -1,
        "weight": 0.1,
        "share": 0.5,
        "paid": True,
        "raw": "/w==",
        "note": "",
        "state": "PAID",
        "at": "2026-01-02T03:04:05.123456Z",
        "items": ["a", "b"],
        "parts": [json.dumps({"id": "3"})],
        "counts": {"4": 1 << 40},
    }
    message.state = 77
    assert values(decoder, message.SerializeToString())["state"] == "77"


def test_a_message_of_any_shape() -> None:
    message: Any = order()()
    message.more.update({"deep": {"x": [1, None]}, "flag": True})
    read = values(ProtobufDecoder.of(NAME, DESCRIPTORS, framed=False), message.SerializeToString())["more"]["fields"]
    assert json.loads(read["deep"]["struct_value"]) == {"x": [1.0, None]}
    assert read["flag"]["bool_value"] is True


@pytest.mark.parametrize("path", [b"\0", b"\2\6", b"\4\2\0"])
def test_the_id_and_the_path_of_a_registry_are_skipped(path: bytes) -> None:
    message: Any = order()()
    message.id = 9
    body = b"\0\0\0\0\7" + path + message.SerializeToString()
    assert values(ProtobufDecoder.of(NAME, DESCRIPTORS, framed=True), body)["id"] == 9


def test_descriptors_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "shop.desc").write_bytes(DESCRIPTORS)
    assert values(ProtobufDecoder.of(NAME, tmp_path / "shop.desc", framed=False), b"\x08\x05")["id"] == 5


@pytest.mark.parametrize("body", [b"\xff", b"\x52\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x5a\x01\xff"])
def test_malformed_bodies(body: bytes) -> None:
    decoder = ProtobufDecoder.of(NAME, DESCRIPTORS, framed=False)
    assert text_of(decoder, body, strict=False) is None
    with pytest.raises(BodyMalformed, match=r"no shop\.Order"):
        text_of(decoder, body, strict=True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((NAME,), "there are no descriptors"),
        (("shop.Orders", DESCRIPTORS), "have no message shop.Orders"),
        ((NAME, b"\xff"), "have no message"),
        ((NAME, DESCRIPTORS[-800:]), "have no message"),
    ],
)
def test_options(arguments: tuple[Any, ...], says: str) -> None:
    frame: Any = None
    with pytest.raises(OptionInvalid, match=says):
        from_protobuf_body(frame, *arguments)
