"""What Spark makes of bodies, traces and dead letters; tests/spark/bodies and tests/spark/history have what is read."""

from __future__ import annotations

import datetime as dt
import io
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rocketwire.remoting import Begin, PushConsumer, ReceivedMessage
from rocketwire.spark.bodies import SchemaRegistry, from_avro_body, from_json_body, from_protobuf_body
from rocketwire.spark.history import dead_letters, delays, hops
from rocketwire.testing import endpoint
from tests.spark.bodies.protobuf_messages import DESCRIPTORS, NAME, order
from tests.spark.bodies.registry_server import registry

AT = dt.datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=dt.UTC)
SCHEMA = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}},
        {"name": "raw", "type": "bytes"},
        {"name": "weights", "type": {"type": "map", "values": "double"}},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "parts", "type": {"type": "array", "items": ["string", "long"]}},
    ],
}
ORDER = {
    "id": (1 << 62) + 1,
    "at": AT,
    "day": dt.date(2026, 1, 2),
    "total": Decimal("123456789012345678.90"),
    "raw": b"\xff\0",
    "weights": {"a": 0.1, "nan": float("nan"), "inf": float("-inf")},
    "note": None,
    "parts": ["x", 7],
}


def avro(value: dict[str, Any]) -> bytes:
    to = io.BytesIO()
    fastavro.schemaless_writer(to, fastavro.parse_schema(SCHEMA), value)
    return to.getvalue()


def bodies(spark: SparkSession, *found: bytes | None) -> DataFrame:
    rows = [(number, None if body is None else bytearray(body)) for number, body in enumerate(found)]
    return spark.createDataFrame(rows, "number int, body binary").coalesce(1)


def values(frame: DataFrame) -> list[Any]:
    return [row.value for row in frame.orderBy("number").select("value").collect()]


def test_json(spark: SparkSession) -> None:
    whole = bodies(spark, '{"id": 3, "name": "é"}'.encode(), b"{", b'{"name": "\xff', None)
    assert [row and row.asDict() for row in values(from_json_body(whole, "id long, name string"))] == [
        {"id": 3, "name": "é"},
        {"id": None, "name": None},
        {"id": None, "name": None},
        None,
    ]
    latin = bodies(spark, '{"name": "é"}'.encode("latin-1"))
    assert values(from_json_body(latin, "name string", charset="ISO-8859-1"))[0].name == "é"
    framed = bodies(spark, b'\0\0\0\0\7{"id": 3}', b'{"id": 3}')
    assert values(from_json_body(framed, "id long", framed=True)) == [(3,), None]


def test_avro(spark: SparkSession) -> None:
    with registry() as fake:
        fake.add(5, SCHEMA, subject="orders-value")
        whole = bodies(spark, b"\0\0\0\0\5" + avro(ORDER), b"\0\0\0\0\6x", b"", None)
        decoded = from_avro_body(whole, registry=SchemaRegistry(fake.url), subject="orders-value")
        first, *rest = values(decoded)
        requested = sum(path == "/schemas/ids/5" for path, _ in fake.requests)
        assert 1 <= requested <= 2, "once a worker, of which there are two"
        with pytest.raises(PySparkException, match="ROCKETMQ_BODY_MALFORMED"):
            values(from_avro_body(whole, registry=fake.url, subject="orders-value", mode="FAILFAST"))
    assert rest == [None, None, None]
    found = first.asDict(recursive=True)
    assert found.pop("weights") == pytest.approx(ORDER["weights"], nan_ok=True)
    assert found == {
        **{name: ORDER[name] for name in ORDER if name != "weights"},
        "at": found["at"],
        "parts": ["x", "7"],
    }
    bare = from_avro_body(bodies(spark, avro(ORDER)), SCHEMA).selectExpr(
        "value.at = timestamp'2026-01-02T03:04:05.123456Z'"
    )
    assert bare.collect() == [(True,)]


def test_protobuf(spark: SparkSession) -> None:
    message: Any = order()(id=5, total=(1 << 64) - 1, raw=b"\xff", items=["a"], counts={1: 2}, state=1)
    message.at.FromDatetime(AT)
    whole = bodies(spark, b"\0\0\0\0\7\0" + message.SerializeToString(), b"x", None)
    first, *rest = values(from_protobuf_body(whole, NAME, DESCRIPTORS, framed=True))
    assert rest == [None, None]
    assert (first.id, first.total, bytes(first.raw), first["items"]) == (5, (1 << 64) - 1, b"\xff", ["a"])
    assert (first.counts, first.state, first.note) == ({"1": 2}, "PAID", None)
    same = from_protobuf_body(whole, NAME, DESCRIPTORS, framed=True).where("number = 0")
    assert same.selectExpr("value.at = timestamp'2026-01-02T03:04:05.123456Z'").collect() == [(True,)]


def report(*fields: object) -> bytes:
    return "\x01".join(map(str, fields)).encode() + b"\x02"


@pytest.fixture(scope="module")
def history(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DataFrame, str, str]]:
    """A store in which one message was consumed and another became a dead letter, with their ids."""
    store = tmp_path_factory.mktemp("history") / "store"
    settings: dict[str, str | int | bool] = {"messageDelayLevel": "1s 1s 1s 1s 1s", "traceTopicEnable": True}
    with endpoint(store=store, settings=settings, topics=["Orders"]) as ep:
        good, bad = ep.send("Orders", b"good", keys="k1"), ep.send("Orders", b"bad", keys="k2")
        now = time.time_ns() // 1_000_000
        with PushConsumer("g", ep.namesrv, begin=Begin.FIRST, max_retries=2) as consumer:
            consumer.subscribe("Orders")
            tries: list[int] = []

            def handle(message: ReceivedMessage) -> None:
                if message.body == b"bad":
                    tries.append(message.reconsume_times)
                    raise ValueError

            consumer.start(handle)
            end = time.monotonic() + 60
            while not ep.receive("%DLQ%g"):
                assert time.monotonic() < end
            consumer.stop()
        assert tries == [0, 1, 2]
        pub = (
            "DefaultRegion",
            "pg",
            "Orders",
            f"{good.message_id},{bad.message_id}",
            "",
            "k",
            "h:1",
            4,
            3,
            0,
            "OFF",
            "true",
        )
        body = report("Pub", now, *pub)
        for number, (one, done, result) in enumerate([(good, "true", 0), (bad, "false", 2), (bad, "false", 1)]):
            key = f"R{number}"
            body += report("SubBefore", now + 100 * number, "null", "g", key, one.message_id, number, "k")
            body += report("SubAfter", key, one.message_id, 7, done, "k", result, now + 100 * number + 7, "g")
        ep.send("RMQ_SYS_TRACE_TOPIC", body + report("SubAfter", "broken"))
    frame = spark.read.format("rocketmq").option("columns", "*").option("includeSystemTopics", "true").load(str(store))
    yield frame.cache(), good.message_id, bad.message_id
    frame.unpersist()


def test_hops(history: tuple[DataFrame, str, str]) -> None:
    frame, good, bad = history
    rows = hops(frame).collect()
    assert [row.kind for row in rows] == ["Pub"] * 2 + ["SubBefore", "SubAfter"] * 3 + ["SubAfter"]
    first, second, begin, end, *_, broken = rows
    assert (first.message_id, second.message_id) == (good, bad)
    assert (first.topic, first.group, first.cost_ms, first.success, first["keys"]) == ("Orders", "pg", 3, True, ["k"])
    assert (begin.message_id, begin.request_id, begin.retry_times, begin.client_host) == (good, "R0", 0, "127.0.0.1")
    assert (end.result, (end.time - begin.time).total_seconds()) == ("success", 0.007)
    assert broken.problem is not None


def test_dead_letters(history: tuple[DataFrame, str, str]) -> None:
    frame, _, bad = history
    (row,) = dead_letters(frame, hops(frame)).collect()
    assert (row.group, row.message_id, row.origin_topic, row["keys"]) == ("g", bad, "Orders", ["k2"])
    (origin,) = frame.where(f"topic = 'Orders' and message_id = '{bad}'").collect()
    assert (row.origin_message_id, row.origin_store_timestamp) == (origin.offset_message_id, origin.store_timestamp)
    assert row.born_timestamp == origin.born_timestamp
    assert origin.store_timestamp <= row.first_sent_back_timestamp < row.dead_timestamp
    assert (row.reconsume_times, row.sent_back) == (3, 2)
    assert (row.first_result, row.first_client_host) == ("exception", "127.0.0.1")
    assert dead_letters(frame).columns == [
        name for name in row.asDict() if not name.startswith("first_") or "sent" in name
    ]


def test_delays(history: tuple[DataFrame, str, str]) -> None:
    frame, good, bad = history
    found = {row.message_id: row for row in delays(frame, hops(frame)).collect()}
    assert found.keys() == {good, bad}
    assert (found[good].group, found[good].attempts, found[bad].attempts) == ("g", 1, 2)
    assert found[good].done_after_ms >= found[good].consumed_after_ms + 7
    assert (found[bad].done_timestamp, found[bad].done_after_ms) == (None, None)
    assert 0 <= found[bad].stored_after_ms < 60_000
    assert delays(frame).count() == 2
