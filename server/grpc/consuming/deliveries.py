"""The messages of a pop as the payloads of a ReceiveMessage answer: by the kernel where all of them are plain."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from rocketwire import native
from rocketwire.server.core.request import Reply
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


def known_names() -> tuple[tuple[bytes, int], ...]:
    """The names of properties that are not simply a user's, with what the kernel does with them."""
    kinds = dict.fromkeys(RESERVED, _HIDDEN) | dict.fromkeys((*RARE_NAMES, names.POP_CK), _RARE) | _KINDS
    return tuple((name.encode(), kind) for name, kind in kinds.items())


@cache
def _writer() -> Any:  # noqa: ANN401 - the kernel's object, or None
    return None if native.kernel is None else native.kernel.CallDeliveries(names=known_names())


def plain_payloads(
    reply: Reply, *, topic: str, broker: str, tags: Iterable[str] | None, most_attempts: int
) -> list[bytes] | None:
    """The payloads for all messages of a pop; None: one of them is not plain, or the client does not get it.

    Args:
        reply: To the pop: with messages.
        topic: That the client asked for.
        broker: The broker's name, for the handles.
        tags: Of the messages that the client wants; None: all.
        most_attempts: Messages that were delivered so often go to the dead letters.
    """
    writer, fields = _writer(), reply.fields
    if writer is None or not isinstance(fields, PopMessageResponseHeader) or fields.order_count_info:
        return None
    starts: dict[int, int] = {}
    for item in (fields.start_offset_info or "").split(";"):
        kind, queue, start = item.split(" ")
        if kind == NORMAL:
            starts[int(queue)] = int(start)
    payloads: list[bytes] | None = writer.write(
        reply.body[0] if len(reply.body) == 1 else b"".join(reply.body),
        topic.encode(),
        starts,
        fields.pop_time,
        fields.invisible_time,
        fields.revive_qid,
        broker.encode(),
        b"",
        most_attempts,
        None if tags is None else tuple([tag.encode() for tag in tags]),
    )
    return payloads
