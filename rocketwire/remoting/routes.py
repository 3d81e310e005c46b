"""Addresses of name servers, and what routes say of a topic's queues."""

from __future__ import annotations

from typing import Final

from rocketwire.remoting.errors import NameServersInvalid
from rocketwire.wire.addresses import Address, AddressInvalid, parse_address
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.facts.codes import Permission

AUTO_CREATED_QUEUES: Final = 4
"""Number of queues of a topic that the broker creates with its first message, as all clients request it."""


def name_server_addresses(text: str) -> list[Address]:
    """The addresses of name servers: `HOST:PORT`, several with `;` between.

    Raises:
        NameServersInvalid: there is none, or one is invalid.
    """
    found: list[Address] = []
    for each in text.split(";"):
        try:
            if each.strip():
                found.append(parse_address(each))
        except AddressInvalid as error:
            raise NameServersInvalid(each, str(error)) from error
    if not found:
        raise NameServersInvalid(text, "expected HOST:PORT, several of them with ; between")
    return found


def readable_queues(route: TopicRouteData) -> list[tuple[str, int]]:
    """Broker name and number of every queue of a topic that can be read, sorted."""
    return sorted(
        (each.broker_name, number)
        for each in route.queue_datas
        if each.perm & Permission.READ
        for number in range(each.read_queue_nums)
    )


def writable_queues(route: TopicRouteData, *, is_model: bool) -> list[tuple[str, int]]:
    """Broker name and number of every queue of a topic that takes messages, sorted.

    Args:
        route: The topic's route.
        is_model: Whether it is the route of the topic that a new one is created after.
    """
    return sorted(
        (each.broker_name, number)
        for each in route.queue_datas
        if each.perm & Permission.WRITE
        for number in range(min(AUTO_CREATED_QUEUES, each.write_queue_nums) if is_model else each.write_queue_nums)
    )
