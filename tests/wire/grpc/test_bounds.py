"""The table of bounds against the descriptors: a method or a repeated field that it does not name fails here."""

from __future__ import annotations

from rocketwire.wire.grpc.bounds import ENTRIES, REQUESTS, request_bytes
from rocketwire.wire.grpc.methods import METHODS
from rocketwire.wire.grpc.request_scan import make_rules

SEND = "/apache.rocketmq.v2.MessagingService/SendMessage"


def test_each_method_has_a_bound() -> None:
    assert set(REQUESTS) == set(METHODS)


def test_each_repeated_field_of_a_request_has_a_bound() -> None:
    assert set(make_rules().names.values()) == set(ENTRIES)


def test_what_one_field_may_have_fits_into_what_its_request_may_have() -> None:
    names = make_rules().names
    assert max(ENTRIES[name] for name in names.values()) <= max(bound.fields for bound in REQUESTS.values())


def test_the_largest_send_has_the_largest_body() -> None:
    assert request_bytes(4 << 20)[SEND] == 5 << 20
    assert {path for path, most in request_bytes(0).items() if most != REQUESTS[path].bytes} == set()
