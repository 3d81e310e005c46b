"""Body dataclasses to and from the bytes of a frame's body."""

from typing import Final, TypeVar

from rocketwire.wire.bodies._shapes import from_builtins
from rocketwire.wire.bodies.fastjson import dumps, loads

B = TypeVar("B")

LENIENT_LIMIT: Final = 2 << 20
"""Bytes. A server reads nothing else meanwhile: so much takes a second, and has offsets of some 20,000 queues."""


def decode_body(cls: type[B], data: bytes | memoryview | str, *, lenient_limit: int | None = LENIENT_LIMIT) -> B:
    """Read a JSON body, as leniently as fastjson; ``lenient_limit`` is the most bytes that need not be plain JSON.

    Raises:
        BodyInvalid: the bytes are no JSON object, or a value is not of the type its field wants.
    """
    return from_builtins(cls, loads(data, lenient_limit=lenient_limit))


def encode_body(body: object, *, strict: bool = False) -> bytes:
    """Write a body dataclass as JSON; ``strict`` quotes all keys, as name servers do for newer clients."""
    return dumps(body, strict=strict)
