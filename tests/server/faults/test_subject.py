"""The fields in which requests name their topic and groups."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire.server.faults.subject import RequestSubject
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import LockBatchRequestBody
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header
from tests.server.harness import consumer, heartbeat


def header(code: int, **ext: str) -> Header:
    return Header(code=code, opaque=1, ext=ext)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (RequestCode.SEND_MESSAGE, "topic"),
        (RequestCode.SEND_MESSAGE_V2, "b"),
        (RequestCode.SEND_BATCH_MESSAGE, "b"),
        (RequestCode.SEND_REPLY_MESSAGE_V2, "b"),
        (RequestCode.PULL_MESSAGE, "topic"),
        (RequestCode.CONSUMER_SEND_MSG_BACK, "originTopic"),
        (RequestCode.GET_ROUTEINFO_BY_TOPIC, "topic"),
    ],
)
def test_topics_are_found(code: int, name: str) -> None:
    assert RequestSubject(header(code, **{name: "T"}), b"").has_topic("T")
    assert not RequestSubject(header(code, **{name: "U"}), b"").has_topic("T")
    assert not RequestSubject(Header(code=code, opaque=1), b"").has_topic("T")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (RequestCode.SEND_MESSAGE, "producerGroup"),
        (RequestCode.SEND_MESSAGE_V2, "a"),
        (RequestCode.PULL_MESSAGE, "consumerGroup"),
        (RequestCode.CONSUMER_SEND_MSG_BACK, "group"),
        (RequestCode.END_TRANSACTION, "producerGroup"),
        (RequestCode.UNREGISTER_CLIENT, "consumerGroup"),
        (RequestCode.UNREGISTER_CLIENT, "producerGroup"),
        (RequestCode.DELETE_SUBSCRIPTIONGROUP, "groupName"),
    ],
)
def test_groups_are_found(code: int, name: str) -> None:
    assert RequestSubject(header(code, **{name: "G"}), b"").has_group("G")
    assert not RequestSubject(header(code, **{name: "H"}), b"").has_group("G")


def test_groups_of_heartbeats_are_found() -> None:
    body = heartbeat("id", consumer("C"), producers=["P"])
    heartbeat_header = header(RequestCode.HEART_BEAT)
    assert RequestSubject(heartbeat_header, body).has_group("C")
    assert RequestSubject(heartbeat_header, body).has_group("P")
    assert not RequestSubject(heartbeat_header, body).has_group("id")
    assert not RequestSubject(heartbeat_header, b"none").has_group("C")


def test_a_body_is_parsed_once_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def noting(kind: Any, body: Buffer, **options: int) -> Any:
        read.append(body)
        return decode_body(kind, body, **options)

    monkeypatch.setattr("rocketwire.server.faults.subject.decode_body", noting)
    body = heartbeat("id", consumer("C"))
    about = RequestSubject(header(RequestCode.HEART_BEAT), body)
    assert [about.has_group(group) for group in ("A", "B", "C")] == [False, False, True]
    assert read == [body]


@pytest.mark.parametrize("code", [RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ])
def test_groups_of_locks_are_found(code: int) -> None:
    body = encode_body(LockBatchRequestBody(consumer_group="G", client_id="id", mq_set=()))
    assert RequestSubject(header(code), body).has_group("G")
    assert not RequestSubject(header(code), body).has_group("H")
