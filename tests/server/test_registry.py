"""The tables of the two servers: each family gets the services of its handlers, and no table has a code twice."""

from __future__ import annotations

from collections import Counter

import pytest

from rocketwire.server.core.route import Route
from rocketwire.server.registry import BROKER_FAMILIES, FAMILIES, NAME_SERVER_FAMILIES, UNSUPPORTED
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers import WireHeader

ROUTES = [route for routes in FAMILIES.values() for route in routes]
SERVED = {route.code for route in ROUTES}

#: The codes that the issue of the endpoint requires.
PROMISED = {
    *(105, 103, 104, 322, 106, 206, 100, 101, 102, 219),
    *(10, 310, 320, 11, 34, 35, 46, 38, 14, 15, 29, 30, 31, 32, 33, 12, 17, 21, 25, 41, 42),
}


def test_codes_that_are_not_served_are_listed() -> None:
    assert RequestCode.POP_ROLLBACK in UNSUPPORTED
    assert set(RequestCode) == SERVED | UNSUPPORTED


def test_promised_codes_are_served() -> None:
    assert {int(code) for code in SERVED} >= PROMISED


@pytest.mark.parametrize("families", [BROKER_FAMILIES, NAME_SERVER_FAMILIES])
def test_no_server_has_a_code_twice(families: dict[str, tuple[Route, ...]]) -> None:
    codes = Counter(route.code for routes in families.values() for route in routes)
    assert [code for code, times in codes.items() if times > 1] == []


def test_the_families_are_those_of_the_two_servers() -> None:
    assert {**BROKER_FAMILIES, **NAME_SERVER_FAMILIES} == FAMILIES
    assert not BROKER_FAMILIES.keys() & NAME_SERVER_FAMILIES.keys()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.code.name)
def test_each_row_is_complete(route: Route) -> None:
    assert route.summary
    assert route.summary == route.summary.strip().rstrip(".")
    for header in (route.header, route.response):
        assert header is None or issubclass(header, WireHeader)
    if route.short:
        assert route.header is not None
        assert route.header.SHORT_NAMES
