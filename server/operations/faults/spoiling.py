"""Corrupt frames: changes one byte of a good one."""

from __future__ import annotations

from collections.abc import Callable

from rocketwire.server.operations.faults.rule import Spot
from rocketwire.wire.frame import HEADER_LENGTH_MASK, LENGTH_SIZE, PREFIX

_OTHER_BYTES = 255


def spoiled(frame: bytes, spot: Spot, choose: Callable[[int], int]) -> bytes:
    """Change one byte of a frame's header, body or length; a frame that lacks the body is returned unchanged.

    Args:
        frame: The whole frame.
        spot: Which bytes may change. The length is the first word of the frame.
        choose: Returns a random number below its argument, uniformly.
    """
    body_at = PREFIX.size + (PREFIX.unpack_from(frame)[1] & HEADER_LENGTH_MASK)
    low, high = {
        Spot.HEADER: (PREFIX.size, body_at),
        Spot.BODY: (body_at, len(frame)),
        Spot.LENGTH: (0, LENGTH_SIZE),
    }[spot]
    if low == high:
        return frame
    changed = bytearray(frame)
    changed[low + choose(high - low)] ^= 1 + choose(_OTHER_BYTES)
    return bytes(changed)
