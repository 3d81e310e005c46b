"""Rows into a running endpoint; and into one with given answers."""

from __future__ import annotations

import logging
import pickle
from collections import Counter
from itertools import count

import pytest
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from rocketwire.remoting.errors import NoSuchTopic
from rocketwire.spark.endpoint.options import write_options
from rocketwire.spark.endpoint.write.writing import WrittenMessages, batch_writer, stream_writer, write
from rocketwire.spark.errors import (
    EndpointUnreachable,
    OptionInvalid,
    RowInvalid,
    SendFailed,
    TopicUnknown,
    WriteUnsupported,
)
from rocketwire.spark.source import RocketMQDataSource
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import BrokerData, QueueData, TopicRouteData
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.properties import decode_properties
from tests.cli.endpoint import FakeAnswer, FakeServer, fake_server
from tests.spark.endpoint.support import NOW, bodies, messages, rows, written

SCHEMA = StructType([StructField("topic", StringType()), StructField("body", BinaryType())])
ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC
SEND, BATCH = RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE


def test_messages_are_stored_with_all_they_have(namesrv: str) -> None:
    batch = rows(
        topic=["Whole"] * 3,
        body=[b"a", b"b", b"c"],
        tags=["t", None, "u"],
        keys=[["k", "l"], None, []],
        properties=[[("p", "1"), ("TRAN_MSG", "true")], None, None],
        queue_id=[1, 1, 2],
        flag=[7, None, -1],
    )
    assert written(namesrv, batch) == 3
    found = messages(namesrv, "Whole")
    assert [(each.message.body, each.message.queue_id, each.message.flag) for each in found] == [
        (b"a", 1, 7),
        (b"b", 1, 0),
        (b"c", 2, -1),
    ]
    assert [(each.tags, each.keys) for each in found] == [("t", ["k", "l"]), (None, []), ("u", [])]
    assert found[0].properties["p"] == "1"
    assert not {"TRAN_MSG", "WAIT"} & found[0].properties.keys()
    assert len({each.properties["UNIQ_KEY"] for each in found}) == 3
    assert all(len(each.message_id) == 32 for each in found)
    assert all(abs(each.message.born_timestamp - each.message.store_timestamp) < 60_000 for each in found)


def test_many_rows_go_to_all_queues_of_a_topic_that_is_made_for_them(namesrv: str) -> None:
    many = [b"%06d" % number for number in range(5000)]
    batches = [rows(body=many[at : at + 1000]) for at in range(0, 5000, 1000)]
    assert written(namesrv, *batches, topic="Many") == 5000
    assert bodies(namesrv, "Many") == many
    by_queue = Counter(each.message.queue_id for each in messages(namesrv, "Many"))
    assert by_queue.keys() == {0, 1, 2, 3}
    assert min(by_queue.values()) >= 976


def test_no_batch_is_larger_than_wanted_and_large_bodies_go_alone(namesrv: str) -> None:
    many = [bytes([number]) * 30_000 for number in range(20)] + [b"large" * 50_000, b"small"]
    assert written(namesrv, rows(body=many), topic="Large", maxBatchBytes="100k") == 22
    assert bodies(namesrv, "Large") == sorted(many)


def test_delayed_messages_are_sent_singly(namesrv: str) -> None:
    assert written(namesrv, rows(body=[b"now", b"later"], delay_level=[None, 18]), topic="Delayed") == 2
    assert bodies(namesrv, "Delayed") == [b"now"]
    (waits,) = messages(namesrv, "SCHEDULE_TOPIC_XXXX")
    assert (waits.message.body, waits.properties["REAL_TOPIC"], waits.message.queue_id) == (b"later", "Delayed", 17)


def test_nothing_is_sent_of_a_batch_with_a_row_that_is_no_message(namesrv: str) -> None:
    with pytest.raises(RowInvalid):
        written(namesrv, rows(topic=["Wrong"] * 2, body=[b"fine", None]))
    with pytest.raises(NoSuchTopic):
        messages(namesrv, "Wrong")


def test_no_rows_need_no_endpoint() -> None:
    assert write(write_options({"namesrv": "127.0.0.1:1"}), iter([])) == WrittenMessages(0)


def test_an_endpoint_that_does_not_answer() -> None:
    slept: list[float] = []
    with fake_server() as server:
        address = server.address
    with pytest.raises(EndpointUnreachable, match=rf"name server {address}: cannot be reached") as caught:
        write(write_options({"namesrv": address, "topic": "T"}), iter([rows(body=[b"a"])]), sleep=slept.append)
    assert slept == [0.25, 0.5, 1.0, 2.0]
    assert "Check that" in caught.value.remedy


def reported(server: FakeServer, *batches: list[bytes], **options: str) -> tuple[int, list[float]]:
    """Write to a fake endpoint: how many were acknowledged, and how long was waited."""
    slept: list[float] = []
    found = write(
        write_options({"namesrv": server.address, "topic": "T", **options}),
        iter([rows(body=batch) for batch in batches]),
        clock=lambda: NOW,
        entropy=bytes,
        sleep=slept.append,
    )
    return found.messages, slept


def test_what_a_broker_does_not_take_is_sent_again_to_another_queue() -> None:
    number = count()
    with fake_server({BATCH: lambda _: FakeAnswer(1, remark="no") if next(number) < 2 else FakeAnswer()}) as server:
        assert reported(server, [b"a", b"b"]) == (2, [0.25, 0.5])
    sent = [ext for code, ext in server.requests if code == BATCH]
    assert [ext["e"] for ext in sent] == ["0", "1", "0"]
    assert sent[0]["b"] == "T"
    assert sent[0]["m"] == "true"
    assert sent[0]["g"] == str(NOW)


def test_it_is_not_sent_without_end() -> None:
    with fake_server({SEND: lambda _: FakeAnswer(1, remark="no\nmore")}) as server:
        with pytest.raises(SendFailed) as caught:
            reported(server, [b"a"], retries="2")
        assert len([code for code, _ in server.requests if code == SEND]) == 3
    assert str(caught.value).startswith(
        "[ROCKETMQ_SEND_FAILED] 1 messages were not acknowledged by broker b, topic T, queue 0: "
        f"broker {server.address} answered code 1: no."
    )


@pytest.mark.parametrize("away", [FakeAnswer(17), FakeAnswer(1, remark="no"), None])
def test_known_queues_are_used_while_no_name_server_has_them(away: FakeAnswer | None) -> None:
    requested, sent = count(), count()

    def route(ext: dict[str, str]) -> FakeAnswer | bytes | None:
        if next(requested) not in (1, 2):
            return known(ext)
        if away is None:
            server.hang_up()
        return away

    with fake_server({SEND: lambda _: FakeAnswer(1, remark="no") if next(sent) < 2 else FakeAnswer()}) as server:
        known, server.answers[ROUTE] = server.answers[ROUTE], route
        assert reported(server, [b"a"], retries="9", endpointTimeoutMs="2000")[0] == 1
    with fake_server({ROUTE: lambda _: FakeAnswer(17)}) as server, pytest.raises(TopicUnknown):
        reported(server, [b"a"])


def test_what_is_illegal_is_not_sent_again() -> None:
    with fake_server({SEND: lambda _: FakeAnswer(13, remark="too large")}) as server:
        with pytest.raises(SendFailed, match="answered code 13: too large"):
            reported(server, [b"a"])
        assert len([code for code, _ in server.requests if code == SEND]) == 1


def test_a_broker_that_wants_less_is_given_time() -> None:
    number = count()
    with fake_server({SEND: lambda _: FakeAnswer(215, remark="slow") if next(number) < 9 else FakeAnswer()}) as server:
        messages, slept = reported(server, [b"a"], retries="0")
    assert messages == 1
    assert slept[:4] == [0.25, 0.5, 1.0, 2.0]
    assert len(slept) == 9
    with (
        fake_server({SEND: lambda _: FakeAnswer(2, remark="slow")}) as server,
        pytest.raises(SendFailed, match="code 2: slow"),
    ):
        reported(server, [b"a"])


def test_stored_but_not_yet_flushed_or_copied_is_stored() -> None:
    with fake_server({SEND: lambda _: FakeAnswer(11)}) as server:
        assert reported(server, [b"a"]) == (1, [])


def test_what_was_on_its_way_when_a_connection_ended_is_sent_again() -> None:
    number = count()

    def answer(_: dict[str, str]) -> FakeAnswer | None:
        if next(number) == 3:
            server.hang_up()
        return FakeAnswer()

    with fake_server({SEND: answer}) as server:
        acknowledged, slept = reported(server, *[[b"%d" % each] for each in range(6)], endpointTimeoutMs="2000")
        sent = [decode_properties(ext["i"])["UNIQ_KEY"] for code, ext in server.requests if code == SEND]
    assert acknowledged == 6
    assert len(set(sent)) == 6
    assert len(sent) > 6
    assert len(slept) >= 1


def test_messages_of_a_broker_that_is_down_go_to_another() -> None:
    with fake_server() as gone:
        closed = gone.address
    with fake_server({SEND: lambda _: FakeAnswer()}) as server:
        queues = tuple(
            QueueData(broker_name=name, write_queue_nums=1, read_queue_nums=1, perm=6) for name in ("a", "b")
        )
        brokers = tuple(
            BrokerData(broker_name=name, broker_addrs={0: at}) for name, at in (("a", closed), ("b", server.address))
        )
        server.answers[ROUTE] = lambda _: FakeAnswer(
            body=encode_body(TopicRouteData(broker_datas=brokers, queue_datas=queues))
        )
        assert reported(server, [b"1"], [b"2"])[0] == 2
        assert [ext["e"] for code, ext in server.requests if code == SEND] == ["0", "0"]


@pytest.mark.parametrize(
    ("route", "text"),
    [
        (lambda _: FakeAnswer(17), "knows no such topic. Create it, or let brokers make topics"),
        (lambda _: FakeAnswer(body=encode_body(TopicRouteData())), "topic T has no queue that takes messages"),
    ],
)
def test_a_topic_that_takes_no_messages(route: object, text: str) -> None:
    with fake_server() as server:
        server.answers[ROUTE] = route  # type: ignore[assignment]  # one of the two above
        with pytest.raises(TopicUnknown, match=text):
            reported(server, [b"1"])


def test_a_queue_that_a_topic_has_not() -> None:
    with fake_server() as server, pytest.raises(TopicUnknown, match="topic T has no queue 2 that takes messages"):
        write(write_options({"namesrv": server.address, "topic": "T"}), iter([rows(body=[b"b"], queue_id=[2])]))


@pytest.mark.parametrize("make", [batch_writer, stream_writer])
def test_what_cannot_be_written_is_refused_at_once(make: type) -> None:
    with pytest.raises(WriteUnsupported, match="messages that were sent cannot be overwritten"):
        make(SCHEMA, {"namesrv": "h:1"}, overwrite=True)
    with pytest.raises(OptionInvalid, match="there is no option columns of writing"):
        make(SCHEMA, {"namesrv": "h:1", "columns": "a"}, overwrite=False)
    with pytest.raises(WriteUnsupported, match="there is no column body"):
        make(StructType(SCHEMA.fields[:1]), {"namesrv": "h:1"}, overwrite=False)


def test_writers_go_from_process_to_process_and_report_the_sum(namesrv: str, caplog: pytest.LogCaptureFixture) -> None:
    source = RocketMQDataSource({"namesrv": namesrv})
    batch, stream = source.writer(SCHEMA, overwrite=False), source.streamWriter(SCHEMA, overwrite=False)
    done = [
        pickle.loads(pickle.dumps(each)).write(iter([rows(topic=["Sum"] * 2, body=[b"a", b"b"])]))
        for each in (batch, stream)
    ]
    assert done == [WrittenMessages(2), WrittenMessages(2)]
    with caplog.at_level(logging.INFO):
        batch.commit([*done, None])
        stream.commit([*done, None], 7)
        batch.abort([*done, None])
        stream.abort([*done, None], 7)
    assert [record.getMessage() for record in caplog.records if "acknowledged" in record.getMessage()] == [
        "4 messages are acknowledged",
        "4 messages of batch 7 are acknowledged",
        "the write failed; 4 messages of tasks that ended are acknowledged",
        "batch 7 failed; 4 messages of tasks that ended are acknowledged",
    ]
    assert bodies(namesrv, "Sum") == [b"a", b"a", b"b", b"b"]
