"""The back-check request, byte for byte as a 4.9.7 broker sent it."""

from __future__ import annotations

import pytest

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.transactions.back_check_sender import BackCheckSender
from rocketwire.server.transactions.round_report import RoundReport
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.header import decode_header
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from rocketwire.wire.properties import decode_properties
from tests.server.harness import FakePeer
from tests.wire import golden

CAPTURE = golden.Capture("4.9.7", "transaction_check")
BACK_CHECKS = [frame for frame in golden.frames(CAPTURE) if frame.row["code"] == 39]


def sender_and_peer(group: str = "w_pg_tx", *, store_host: bytes) -> tuple[BackCheckSender, FakePeer]:
    clients = ClientGroups(lambda _: False)
    peer = FakePeer()
    clients.register_producer(peer, "id", group, language="JAVA", version=407)
    return BackCheckSender(clients, store_host=store_host), peer


@pytest.mark.parametrize("recorded", BACK_CHECKS, ids=lambda recorded: str(recorded.row["seq"]))
async def test_a_back_check_equals_apaches(recorded: golden.GoldenFrame) -> None:
    (frame,), _ = FrameReader().receive(memoryview(recorded.data))
    body = bytes(frame.body)
    record = decode_record(body)
    properties = decode_properties(record.properties.decode())
    half = stored_message(memoryview(body))._replace(properties=b"", queue_id=0, topic="RMQ_SYS_TRANS_HALF_TOPIC")
    service, peer = sender_and_peer(store_host=encode_host(*record.store_host))
    service.send(half, (record.physical_offset, record.queue_offset), {**properties, "WAIT": "true"}, RoundReport())
    ((code, ext),) = peer.pushed
    assert (code, ext) == (39, decode_header(frame.header, frame.serialize_type).ext)
    assert peer.pushed_bodies == [body]


def test_there_are_recorded_back_checks() -> None:
    assert len(BACK_CHECKS) == 2


HALF = encode_record(MessageRecord(topic="RMQ_SYS_TRANS_HALF_TOPIC", queue_id=0, body=b"x"))
QUEUE = {"REAL_TOPIC": "T", "REAL_QID": "1"}


@pytest.mark.parametrize("properties", [QUEUE, {"PGROUP": "other", **QUEUE}, {"PGROUP": "w_pg_tx"}])
async def test_without_a_group_a_producer_or_a_queue_there_is_no_back_check(properties: dict[str, str]) -> None:
    report = RoundReport()
    service, peer = sender_and_peer(store_host=encode_host("127.0.0.1", 1))
    service.send(stored_message(memoryview(HALF)), (0, 0), properties, report)
    assert peer.pushed == []
    assert (report.without_producer.total(), report.sent) == (1, 0)


async def test_a_back_check_may_have_no_key() -> None:
    report = RoundReport()
    service, peer = sender_and_peer(store_host=encode_host("127.0.0.1", 1))
    service.send(stored_message(memoryview(HALF)), (7, 3), {"PGROUP": "w_pg_tx", **QUEUE}, report)
    assert peer.pushed[0][1] == {
        "commitLogOffset": "7",
        "offsetMsgId": "7F000001000000010000000000000007",
        "tranStateTableOffset": "3",
    }
    assert (report.without_producer.total(), report.sent) == (0, 1)


async def test_a_back_check_that_fits_no_record_is_not_sent() -> None:
    report = RoundReport()
    service, peer = sender_and_peer(store_host=encode_host("127.0.0.1", 1))
    properties = {"PGROUP": "w_pg_tx", "REAL_TOPIC": "t" * 200, "REAL_QID": "1"}
    service.send(stored_message(memoryview(HALF)), (0, 0), properties, report)
    assert peer.pushed == []
    assert (dict(report.too_long), report.sent) == ({"w_pg_tx": 1}, 0)
