"""Which broker of an endpoint stands for one of a recording: that of the same name, or the only one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rocketwire.capture.contents.bodies import body_value
from rocketwire.capture.contents.frames import RecordedFrame
from rocketwire.capture.errors import CannotReplay
from rocketwire.capture.file.events import Event
from rocketwire.wire.addresses import Address, AddressInvalid, parse_address

_VIP_DISTANCE: Final = 2


def names_of(frames: Iterable[Event | RecordedFrame]) -> dict[str, str]:
    """The brokers' names by their addresses, as the recorded answers of name servers tell them."""
    found: dict[str, str] = {}
    for frame in frames:
        if isinstance(frame, RecordedFrame) and frame.header.is_response and b"brokerAddrs" in frame.body:
            found.update(_brokers(body_value(frame.body, frame.code, response=True)))
    return found


def _brokers(value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - whatever JSON can say
    """Address and name of each broker in a body."""
    if isinstance(value, list):
        for item in value:
            yield from _brokers(item)
    elif isinstance(value, dict):
        name, addresses = value.get("brokerName"), value.get("brokerAddrs")
        if isinstance(name, str) and isinstance(addresses, dict):
            yield from ((str(address), name) for address in addresses.values())
        for item in value.values():
            yield from _brokers(item)


def target_of(server: str, names: Mapping[str, str], brokers: Mapping[str, Address]) -> Address:
    """The address to connect to in the place of a recorded broker's.

    Args:
        server: The recorded address, also that of a VIP channel.
        names: The recorded brokers' names by their addresses.
        brokers: The endpoint's brokers by their names.

    Raises:
        CannotReplay: the endpoint has several brokers, and none of that name.
    """
    name = names.get(server) or names.get(_main(server))
    if name is not None and name in brokers:
        return brokers[name]
    if len(brokers) == 1:
        return next(iter(brokers.values()))
    raise CannotReplay(
        f"the recorded broker {name or server} has no counterpart: the endpoint has {', '.join(sorted(brokers))}"
    )


def _main(vip: str) -> str:
    """The address of the broker that a VIP channel's address belongs to."""
    try:
        address = parse_address(vip)
    except AddressInvalid:
        return vip
    return str(Address(host=address.host, port=address.port + _VIP_DISTANCE))
