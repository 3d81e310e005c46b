"""What is sent for a recorded request, and where: signed again, with the places of messages in the new log.

The broker of an endpoint that stands for one of a recording is that of the same name, or the only one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from rocketwire.capture.contents.bodies import RECORDS, body_value, records_of
from rocketwire.capture.contents.frames import RecordedFrame
from rocketwire.capture.errors import CannotReplay
from rocketwire.capture.file.events import CutParts, Event
from rocketwire.remoting.credentials import Signer, unsigned
from rocketwire.wire.addresses import Address, AddressInvalid, parse_address
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.message_id import parse_offset_message_id

_VIP_DISTANCE: Final = 2


def names_of(frames: Iterable[Event | RecordedFrame]) -> dict[str, str]:
    """The brokers' names by their addresses, from the recorded answers of name servers."""
    found: dict[str, str] = {}
    for frame in frames:
        if isinstance(frame, RecordedFrame) and frame.header.is_response and b"brokerAddrs" in frame.body:
            found.update(_brokers(body_value(frame.body, frame.code, response=True)))
    return found


def _brokers(value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any JSON value
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


_PLACES: Final = {
    RequestCode.VIEW_MESSAGE_BY_ID: "offset",
    RequestCode.CONSUMER_SEND_MSG_BACK: "offset",
    RequestCode.END_TRANSACTION: "commitLogOffset",
}
"""The field with a message's place in the log, by code."""
UNSENDABLE: Final = CutParts.SECRETS | CutParts.BODY
"""A request that lacks one of these cannot be sent again."""


class OffsetTranslation:
    """Where messages lie in the log of the endpoint: learnt from pairs of answers, used in later requests."""

    def __init__(self) -> None:
        self._now: dict[str, str] = {}

    def learn(self, recorded: RecordedFrame, ext: dict[str, str], body: bytes) -> None:
        """Take the places of the messages that two answers name, the recorded one and that of the endpoint."""
        with contextlib.suppress(WireError):
            before, now = ((each or {}).get("msgId", "") for each in (recorded.header.ext, ext))
            for old, new in zip(before.split(","), now.split(","), strict=False):
                if old and new:
                    self._now[_place(old)] = _place(new)
            if recorded.code in RECORDS:
                for earlier, later in zip(records_of(recorded.body), records_of(body), strict=False):
                    if (earlier.topic, earlier.body) == (later.topic, later.body):
                        self._now.setdefault(str(earlier.physical_offset), str(later.physical_offset))

    def now(self, place: str) -> str:
        """The place of a message now; the recorded one where it is not known."""
        return self._now.get(place, place)


def _place(message_id: str) -> str:
    return str(parse_offset_message_id(message_id)[1])


def prepared(frame: RecordedFrame, signer: Signer | None, places: OffsetTranslation) -> bytes:
    """The bytes to send for a recorded request: those that were recorded, unless something has to change.

    Args:
        frame: The request.
        signer: Signs it again; without one a masked signature is omitted.
        places: Where messages lie now.
    """
    header = unsigned(frame.header) if frame.sent.left & CutParts.ACCOUNT else frame.header
    field = _PLACES.get(RequestCode(header.code)) if header.code in _PLACES else None
    if field is not None and header.ext is not None and field in header.ext:
        header = msgspec.structs.replace(header, ext={**header.ext, field: places.now(header.ext[field])})
    if signer is not None:
        header = signer.signed(header, frame.body)
    if header == frame.header:
        return frame.sent.data
    return encode_frame(header, frame.body, frame.serialize_type)
