"""Body dataclasses to and from the bytes of a frame's body."""

from typing import Final, TypeVar

from rocketwire.wire.bodies._shapes import from_builtins
from rocketwire.wire.bodies.fastjson import dumps, loads
from rocketwire.wire.json_bounds import MAX_JSON_ENTRIES

B = TypeVar("B")

LENIENT_LIMIT: Final = 2 << 20
"""Bytes: offsets of some 20,000 queues. Reading so much takes a second."""


def decode_body(
    cls: type[B],
    data: bytes | memoryview | str,
    *,
    lenient_limit: int | None = LENIENT_LIMIT,
    most_entries: int | None = MAX_JSON_ENTRIES,
) -> B:
    """Read a JSON body, as leniently as fastjson.

    Args:
        cls: The class of the body.
        data: The text.
        lenient_limit: The most bytes of a text that is not plain JSON.
        most_entries: The most members and items, at all depths.

    Raises:
        EntriesTooMany: it has more.
        BodyInvalid: the bytes are no JSON object, or a value is not of the type its field wants.
    """
    return from_builtins(cls, loads(data, lenient_limit=lenient_limit, most_entries=most_entries))


def encode_body(body: object, *, strict: bool = False) -> bytes:
    """Write a body dataclass as JSON; ``strict`` quotes all keys, as name servers do for newer clients."""
    return dumps(body, strict=strict)
