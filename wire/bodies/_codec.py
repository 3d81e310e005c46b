"""Body dataclasses to and from the bytes of a frame's body."""

from typing import TypeVar

from rocketwire.wire.bodies._shapes import from_builtins
from rocketwire.wire.bodies.fastjson import dumps, loads

B = TypeVar("B")


def decode_body(cls: type[B], data: bytes | memoryview | str) -> B:
    """Read a JSON body, as leniently as fastjson.

    Raises:
        BodyInvalid: the bytes are no JSON object, or a value is not of the type its field wants.
    """
    return from_builtins(cls, loads(data))


def encode_body(body: object, *, strict: bool = False) -> bytes:
    """Write a body dataclass as JSON; ``strict`` quotes all keys, as name servers do for newer clients."""
    return dumps(body, strict=strict)
