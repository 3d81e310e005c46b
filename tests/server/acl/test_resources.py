from __future__ import annotations

import pytest

from rocketwire.server.acl.permissions import PUB, SUB
from rocketwire.server.acl.resources import ADMIN_CODES, needed, shown
from rocketwire.server.registry import BROKER_FAMILIES
from rocketwire.wire.errors import BodyInvalid
from tests.server.harness import consumer, heartbeat, subscription

NOTHING = memoryview(b"")


@pytest.mark.parametrize(
    ("code", "ext", "permission", "resources"),
    [
        (10, {"topic": "T", "group": "G"}, PUB, ("T",)),
        (10, {"topic": "%RETRY%G", "group": "G2"}, SUB, ("%RETRY%G2",)),
        (10, {"topic": "%RETRY%G"}, SUB, ()),
        (10, {"b": "T"}, SUB, ()),
        (310, {"a": "G", "b": "T"}, PUB, ("T",)),
        (310, {"a": "G2", "b": "%RETRY%G"}, SUB, ("%RETRY%G2",)),
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
        (36, {"group": "G"}, SUB, ("%RETRY%G",)),
        (38, {"consumerGroup": "G"}, SUB, ("%RETRY%G",)),
        (14, {"topic": "T", "consumerGroup": "G"}, SUB, ()),
        (37, {"producerGroup": "P"}, SUB, ()),
        (9999, {"topic": "T"}, SUB, ()),
    ],
)
def test_what_requests_need(code: int, ext: dict[str, str], permission: int, resources: tuple[str, ...]) -> None:
    assert needed(code, ext, NOTHING) == (permission, resources)


FOR_EVERY_ACCOUNT = {14, *range(21, 34), 37, 41, 42, 46, 201, 202, 203, 204, 208, 222, 223}
FOR_EVERY_ACCOUNT |= {300, 303, 306, 307, 309, 316, 324, 325, 329}
"""Of which 4.9.7 asks nothing but an account."""


def test_each_request_that_is_served_needs_something_or_is_known_to_need_nothing() -> None:
    ext = dict.fromkeys(("topic", "group", "consumerGroup", "a", "b"), "T")
    body = memoryview(heartbeat("c", consumer("G", subscription("T"))))
    for routes in BROKER_FAMILIES.values():
        for route in routes:
            open_to_all = route.code not in ADMIN_CODES and not needed(route.code, ext, body).resources
            assert open_to_all == (route.code in FOR_EVERY_ACCOUNT - ADMIN_CODES), route.code


def test_a_heartbeat_needs_all_its_groups_and_topics() -> None:
    body = heartbeat(
        "c", consumer("G", subscription("T"), subscription("U")), consumer("H", subscription("T")), producers=["P"]
    )
    assert needed(34, {}, memoryview(body)) == (SUB, ("%RETRY%G", "T", "U", "%RETRY%H"))
    assert needed(34, {}, memoryview(heartbeat("c", producers=["P"]))) == (SUB, ())
    with pytest.raises(BodyInvalid):
        needed(34, {}, memoryview(b"nothing"))


def test_how_they_are_shown() -> None:
    assert shown("T") == "topic:T"
    assert shown("%RETRY%G") == "group:G"
    assert shown("%RETRY%%RETRY%G") == "group:%RETRY%G"
