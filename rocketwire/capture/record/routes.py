"""Broker addresses in the answers of name servers, replaced by those of the proxy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rocketwire.wire.addresses import AddressInvalid, parse_address
from rocketwire.wire.bodies import fastjson
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.json_bounds import MAX_JSON_ENTRIES

WITH_ADDRESSES: Final = frozenset(
    {
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.GET_BROKER_MEMBER_GROUP,
    }
)
"""Codes whose answers name brokers by address."""
_LENIENT: Final = 2 << 20


def replaced(body: bytes, local: Callable[[str], str]) -> bytes:
    """The body of an answer with other broker addresses; every other byte stays.

    Args:
        body: The body; one that is no JSON stays as it is.
        local: Gives the address to put in the place of one.
    """
    for address in sorted(broker_addresses(body), key=len, reverse=True):
        body = body.replace(f'"{address}"'.encode(), f'"{local(address)}"'.encode())
    return body


def broker_addresses(body: bytes) -> frozenset[str]:
    """The addresses of brokers in a body: HOST:PORT texts in objects called `brokerAddrs`."""
    try:
        found = fastjson.loads(body, lenient_limit=_LENIENT, most_entries=MAX_JSON_ENTRIES)
    except BodyInvalid:
        return frozenset()
    return frozenset(_addresses(found))


def _addresses(value: Any) -> list[str]:  # noqa: ANN401 - whatever JSON can say
    if isinstance(value, list):
        return [each for item in value for each in _addresses(item)]
    if not isinstance(value, dict):
        return []
    found = []
    for name, item in value.items():
        if name == "brokerAddrs" and isinstance(item, dict):
            found += [each for each in item.values() if isinstance(each, str) and _is_address(each)]
        else:
            found += _addresses(item)
    return found


def _is_address(text: str) -> bool:
    try:
        parse_address(text)
    except AddressInvalid:
        return False
    return True
