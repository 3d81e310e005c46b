"""Which producers may get a back-check (39): it has the whole record of the half message."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rocketwire.server.core.request import Peer
from rocketwire.server.messages.stored_message import stored_message
from rocketwire.wire.errors import RecordInvalid

MayCheck: TypeAlias = Callable[[Peer, str], bool]
"""Decides whether a producer may receive the messages of a topic."""


def allow_every_producer(_peer: Peer, _topic: str) -> bool:
    """Let every producer know every message."""
    return True


def may_check(may_receive: MayCheck, peer: Peer, record: memoryview | bytes) -> bool:
    """Whether a producer may get a check; none may get one that cannot be read."""
    if may_receive is allow_every_producer:
        return True
    try:
        return may_receive(peer, stored_message(memoryview(record)).topic)
    except RecordInvalid:
        return False
