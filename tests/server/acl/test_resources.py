from __future__ import annotations

import itertools

import pytest

from rocketwire.server.acl.access_rules import ADMIN_CODES, message_offset, needed_permissions, permissions_for_message
from rocketwire.server.acl.resources import (
    DENY,
    NOTHING,
    PUB,
    SUB,
    NeededPermissions,
    allows,
    assignment,
    is_permission,
    parse_permissions,
    resource_text,
)
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.registry import BROKER_FAMILIES
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.assignment import QueryAssignmentRequestBody
from rocketwire.wire.bodies.client import LockBatchRequestBody
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import consumer, heartbeat, subscription

MESSAGE_ID = "7F0000010000000A0000000000000007"
END = {"producerGroup": "P", "tranStateTableOffset": "0", "commitOrRollback": "8", "msgId": "m"}


def permissions_of(code: int, ext: dict[str, str], body: bytes = b"") -> NeededPermissions:
    def owner_at(offset: int) -> str:
        return f"at {offset}" if offset >= 0 else "%RETRY%G"

    of_header = needed_permissions(code, ext, memoryview(body), reply_topic="C_REPLY_TOPIC")
    place = message_offset(code, ext)
    of_message = NOTHING if place is None else permissions_for_message(code, ext, owner_at(place))
    assert of_message.permission == SUB or not of_header.resources
    return NeededPermissions(
        of_message.permission if of_message.resources else of_header.permission,
        of_header.resources + of_message.resources,
    )


@pytest.mark.parametrize(
    ("code", "ext", "permission", "resources"),
    [
        (10, {"topic": "T", "group": "G"}, PUB, ("T",)),
        (10, {"topic": "%RETRY%G", "group": "G2", "producerGroup": "G2"}, SUB, ("%RETRY%G",)),
        (10, {"topic": "%RETRY%G"}, SUB, ("%RETRY%G",)),
        (10, {"topic": "RMQ_SYS_TRACE_TOPIC"}, SUB, ()),
        (10, {"b": "T"}, SUB, ()),
        (310, {"a": "G", "b": "T"}, PUB, ("T",)),
        (310, {"a": "G2", "b": "%RETRY%G"}, SUB, ("%RETRY%G",)),
        (310, {"b": "%RETRY%G"}, SUB, ("%RETRY%G",)),
        (310, {"a": "G2", "b": "%DLQ%G"}, PUB, ("%DLQ%G",)),
        (310, {"topic": "T"}, SUB, ()),
        (320, {"a": "G", "b": "T"}, PUB, ("T",)),
        (11, {"topic": "T", "consumerGroup": "G"}, SUB, ("T", "%RETRY%G")),
        (11, {"topic": "T"}, SUB, ("T",)),
        (361, {"topic": "T", "consumerGroup": "G"}, SUB, ("T", "%RETRY%G")),
        (370, {"topic": "T", "producerGroup": "P", "recallHandle": "x"}, PUB, ("T",)),
        (370, {"topic": "%RETRY%G"}, PUB, ("%RETRY%G",)),
        (370, {}, SUB, ()),
        (12, {"topic": "T", "key": "K"}, SUB, ("T",)),
        (15, {"topic": "T", "consumerGroup": "G"}, SUB, ("%RETRY%G", "T")),
        (35, {"producerGroup": "P", "consumerGroup": "G"}, SUB, ("%RETRY%G",)),
        (35, {"producerGroup": "P"}, SUB, ()),
        (36, {"group": "G", "offset": "7", "delayLevel": "0"}, SUB, ("%RETRY%G", "at 7")),
        (33, {"offset": "7"}, SUB, ("at 7",)),
        (37, {**END, "commitLogOffset": "7"}, PUB, ("at 7",)),
        (37, {**END, "commitLogOffset": "-1"}, SUB, ("%RETRY%G",)),
        (309, {"consumerGroup": "G", "msgId": MESSAGE_ID}, SUB, ("%RETRY%G", "at 7")),
        (309, {"consumerGroup": "G"}, SUB, ("%RETRY%G",)),
        (324, {"topic": "T"}, PUB, ("T",)),
        (325, {"b": "%RETRY%G"}, SUB, ("%RETRY%G",)),
        (325, {"b": "C_REPLY_TOPIC"}, SUB, ()),
        (310, {"b": "C_REPLY_TOPIC"}, PUB, ("C_REPLY_TOPIC",)),
        (30, {"topic": "T"}, PUB | SUB, ("T",)),
        (30, {}, SUB, ()),
        (208, {"consumerGroup": "G"}, SUB, ("%RETRY%G",)),
        (208, {"consumerGroup": "G", "topic": " "}, SUB, ("%RETRY%G",)),
        (208, {"consumerGroup": "G", "topic": "T"}, SUB, ("%RETRY%G", "T")),
        (208, {"consumerGroup": "G", "topicList": "T;;U"}, SUB, ("%RETRY%G", "T", "U")),
        (208, {"consumerGroup": "G", "topic": "T", "topicList": "U;"}, SUB, ("%RETRY%G", "T", "U")),
        (38, {"consumerGroup": "G"}, SUB, ("%RETRY%G",)),
        (14, {"topic": "T", "consumerGroup": "G"}, SUB, ("%RETRY%G", "T")),
        (28, {"topic": "T"}, SUB, ()),
        (315, {"statsName": "TOPIC_PUT_NUMS", "statsKey": "T"}, PUB | SUB, ("T",)),
        (315, {"statsName": "GROUP_GET_NUMS", "statsKey": "T@G"}, PUB | SUB, ("T", "%RETRY%G")),
        (315, {"statsName": "GROUP_GET_LATENCY", "statsKey": "0@T@G"}, PUB | SUB, ("T", "%RETRY%G")),
        (315, {"statsName": "COMMERCIAL_SEND_TIMES", "statsKey": "owner@T@G@type@"}, PUB | SUB, ("T", "%RETRY%G")),
        (315, {"statsName": "BROKER_PUT_NUMS", "statsKey": "C"}, SUB, ()),
        (315, {"statsName": "TOPIC_PUT_NUMS"}, SUB, ()),
        (200050, {"topic": "T", "consumerGroup": "G"}, SUB, ("T", "%RETRY%G")),
        (200051, {"topic": "%RETRY%G_T", "consumerGroup": "G"}, SUB, ("T", "%RETRY%G")),
        (200053, {"topic": "%RETRY%G+T", "consumerGroup": "G"}, SUB, ("T", "%RETRY%G")),
        (200051, {"topic": "%RETRY%H_T", "consumerGroup": "G"}, SUB, ("%RETRY%H_T", "%RETRY%G")),
        (9999, {"topic": "T"}, SUB, ()),
    ],
)
def test_each_request_needs_the_permissions_of_its_fields(
    code: int, ext: dict[str, str], permission: int, resources: tuple[str, ...]
) -> None:
    assert permissions_of(code, ext) == (permission, resources)


FOR_EVERY_ACCOUNT = {28, 46}
ACKS = b'{"acks":[{"c":"G","t":"T"},{"c":"G","t":"%RETRY%G_U"}]}'


def test_acknowledgements_of_several_messages_need_all_their_groups_and_topics() -> None:
    assert permissions_of(200151, {}, ACKS) == (SUB, ("T", "%RETRY%G", "U"))
    assert permissions_of(200151, {}, b"") == (SUB, ())
    with pytest.raises(BodyInvalid):
        permissions_of(200151, {}, b"nothing")


def test_each_served_request_needs_a_permission_or_is_known_to_need_none() -> None:
    ext = dict.fromkeys(("topic", "group", "consumerGroup", "producerGroup", "a", "b"), "T")
    ext |= {**END, "statsKey": "T", "offset": "7", "delayLevel": "0", "commitLogOffset": "7", "msgId": MESSAGE_ID}
    body = heartbeat("c", consumer("G", subscription("T")))
    for routes in BROKER_FAMILIES.values():
        for route in routes:
            own = ACKS if route.code == RequestCode.BATCH_ACK_MESSAGE else body
            open_to_all = route.code not in ADMIN_CODES and not permissions_of(route.code, ext, own).resources
            assert open_to_all == (route.code in FOR_EVERY_ACCOUNT), route.code


def test_a_query_of_assignments_needs_the_permissions_of_reading() -> None:
    body = encode_body(QueryAssignmentRequestBody(topic="T", consumer_group="G", client_id="c"))
    assert permissions_of(400, {}, body) == (SUB, ("T", "%RETRY%G"))
    with pytest.raises(LimitExceeded, match="assignmentBytes"):
        permissions_of(400, {}, b" " * 8193)


def test_the_progress_in_too_many_topics_is_refused() -> None:
    with pytest.raises(LimitExceeded, match="headerItems=8192"):
        permissions_of(208, {"consumerGroup": "G", "topicList": ";" * 8192})


@pytest.mark.parametrize("code", [41, 42])
def test_locks_need_their_group(code: int) -> None:
    body = encode_body(LockBatchRequestBody(consumer_group="G", client_id="c"))
    assert permissions_of(code, {}, body) == (SUB, ("%RETRY%G",))
    assert permissions_of(code, {}, b"{}") == (SUB, ("%RETRY%",))
    with pytest.raises(BodyInvalid):
        permissions_of(code, {}, b"nothing")


def test_a_heartbeat_needs_all_its_groups_and_topics() -> None:
    body = heartbeat(
        "c", consumer("G", subscription("T"), subscription("U")), consumer("H", subscription("T")), producers=["P"]
    )
    assert permissions_of(34, {}, body) == (SUB, ("%RETRY%G", "T", "U", "%RETRY%H"))
    assert permissions_of(34, {}, heartbeat("c", producers=["P"])) == (SUB, ())
    with pytest.raises(BodyInvalid):
        permissions_of(34, {}, b"nothing")


def test_resources_are_shown_as_apache_does() -> None:
    assert resource_text("T") == "topic:T"
    assert resource_text("%RETRY%G") == "group:G"
    assert resource_text("%RETRY%%RETRY%G") == "group:%RETRY%G"


@pytest.mark.parametrize(
    ("ext", "need"),
    [
        ({"topic": "T"}, NOTHING),  # of a frame
        ({"topic": "T", "permission": "x"}, NOTHING),
        ({"topic": "T", "permission": "9" * 5000}, NOTHING),
        ({"topic": "T", "permission": str(PUB)}, NeededPermissions(PUB, ("T",))),
        ({"topic": "T", "permission": str(PUB | SUB)}, NeededPermissions(PUB | SUB, ("T",))),
        ({"topic": "T", "permission": str(SUB), "consumerGroup": "G"}, NeededPermissions(SUB, ("T", "%RETRY%G"))),
    ],
)
def test_a_route_needs_the_permission_of_the_call_that_uses_it(ext: dict[str, str], need: NeededPermissions) -> None:
    assert needed_permissions(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext, memoryview(b"")) == need


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("DENY", DENY),
        ("PUB", PUB),
        ("SUB", SUB),
        ("PUB|SUB", PUB | SUB),
        ("SUB|PUB", PUB | SUB),
        (" SUB\t", SUB),
        ("pub", DENY),
        ("ANY", DENY),
        ("PUB |SUB", DENY),
        ("", DENY),
        (None, DENY),
    ],
)
def test_permissions_are_read_from_texts(text: str | None, bits: int) -> None:
    assert parse_permissions(text) == bits


def test_an_invalid_permission_differs_from_deny() -> None:
    assert [is_permission(text) for text in ("DENY", " PUB ", "pub", "")] == [True, True, False, False]


def test_a_permission_allows_its_requests_only() -> None:
    # The rule for every combination of bits: not if DENY is among them, else if one that is needed is.
    for owned, needed in itertools.product(range(16), (PUB, SUB)):
        words = [name for name, bit in (("DENY", DENY), ("PUB", PUB), ("SUB", SUB)) if owned & bit]
        wanted = "PUB" if needed == PUB else "SUB"
        assert allows(owned, needed) is ("DENY" not in words and wanted in words)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("T=PUB", ("T", "PUB")),
        (" T = PUB|SUB ", ("T", "PUB|SUB")),
        ("T==PUB", ("T", "PUB")),
        ("=T=PUB=", ("T", "PUB")),
        ("T", None),
        ("T=", None),
        ("=PUB", None),
        ("", None),
        ("T=PUB=SUB", None),
    ],
)
def test_assignments_are_parsed(text: str, found: tuple[str, str] | None) -> None:
    assert assignment(text) == found
