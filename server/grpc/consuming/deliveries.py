"""The messages of a pop as the payloads of a ReceiveMessage answer: by the kernel where all of them are plain."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from rocketwire import native
from rocketwire.server.core.request import Reply
from rocketwire.server.grpc.consuming.handles import MARK
from rocketwire.wire import properties as names
from rocketwire.wire.grpc.fast_delivery import RARE_NAMES
from rocketwire.wire.grpc.property_names import BORN_HOST, RESERVED
from rocketwire.wire.headers.pop import PopMessageResponseHeader
from rocketwire.wire.pop_handle import NORMAL

_KINDS: Final = {  # as kernel/grpc/delivery.h has them
    names.TAGS: 1,
    names.KEYS: 2,
    names.UNIQ_KEY: 3,
    names.SHARDING_KEY: 4,
    BORN_HOST: 5,
}
_HIDDEN: Final = 6
_RARE: Final = 7
_PLACE: Final = struct.Struct(">i8xi4xqq")
"""Size, queue, queue offset and place in the commit log, with which each record begins."""


def known_names() -> tuple[tuple[bytes, int], ...]:
    """The names of properties that are not simply a user's, with what the kernel does with them."""
    kinds = dict.fromkeys(RESERVED, _HIDDEN) | dict.fromkeys((*RARE_NAMES, names.POP_CK), _RARE) | _KINDS
    return tuple((name.encode(), kind) for name, kind in kinds.items())


@cache
def _writer() -> Any:  # noqa: ANN401 - the kernel's object, or None
    return None if native.kernel is None else native.kernel.CallDeliveries(names=known_names())


def plain_payloads(
    reply: Reply, *, topic: str, broker: str, tags: Iterable[str] | None, most_attempts: int, renewed: bool
) -> list[bytes] | None:
    """The payloads for all messages of a pop; None: one of them is not plain, or the client does not get it.

    Args:
        reply: To the pop: with messages.
        topic: That the client asked for.
        broker: The broker's name, for the handles.
        tags: Of the messages that the client wants; None: all.
        most_attempts: Messages that were delivered so often go to the dead letters.
        renewed: Whether the server renews the deliveries.
    """
    writer, fields = _writer(), reply.fields
    if writer is None or not isinstance(fields, PopMessageResponseHeader) or fields.order_count_info:
        return None
    payloads: list[bytes] | None = writer.write(
        reply.body[0] if len(reply.body) == 1 else b"".join(reply.body),
        topic.encode(),
        _starts(fields),
        fields.pop_time,
        fields.invisible_time,
        fields.revive_qid,
        broker.encode(),
        MARK.encode() if renewed else b"",
        most_attempts,
        None if tags is None else tuple([tag.encode() for tag in tags]),
    )
    return payloads


def plain_handles(reply: Reply, broker: str) -> Iterator[str]:
    """The handles of the messages of a pop that `plain_payloads` made payloads of, and that the server renews."""
    fields = reply.fields
    assert isinstance(fields, PopMessageResponseHeader)  # noqa: S101 - the messages are plain
    starts = _starts(fields)
    times = f"{fields.pop_time} {fields.invisible_time} {fields.revive_qid} {NORMAL} {broker}"
    for body in reply.body:
        at = 0
        while at < len(body):
            size, queue, offset, place = _PLACE.unpack_from(body, at)
            yield f"{starts[queue]} {times} {queue} {offset} {place}{MARK}"
            at += size


def _starts(fields: PopMessageResponseHeader) -> dict[int, int]:
    """Where the check points begin, by queue of the topic itself."""
    items = [item.split(" ") for item in (fields.start_offset_info or "").split(";")]
    return {int(queue): int(start) for kind, queue, start in items if kind == NORMAL}
