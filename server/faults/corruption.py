"""Corrupt frames: changes one byte of a good one."""

from __future__ import annotations

from collections.abc import Callable

from rocketwire.server.faults.rule import CorruptedPart
from rocketwire.wire.frame import FRAME_PREFIX, HEADER_LENGTH_MASK, LENGTH_SIZE

_OTHER_BYTES = 255


def corrupt_frame(frame: bytes, spot: CorruptedPart, choose: Callable[[int], int]) -> bytes:
    """Change one byte of a frame's header, body or length; a frame that lacks the body is returned unchanged.

    Args:
        frame: The whole frame.
        spot: Which bytes may change. The length is the first word of the frame.
        choose: Returns a random number below its argument, uniformly.
    """
    body_at = FRAME_PREFIX.size + (FRAME_PREFIX.unpack_from(frame)[1] & HEADER_LENGTH_MASK)
    low, high = {
        CorruptedPart.HEADER: (FRAME_PREFIX.size, body_at),
        CorruptedPart.BODY: (body_at, len(frame)),
        CorruptedPart.LENGTH: (0, LENGTH_SIZE),
    }[spot]
    if low == high:
        return frame
    changed = bytearray(frame)
    changed[low + choose(high - low)] ^= 1 + choose(_OTHER_BYTES)
    return bytes(changed)
