"""Newest copies: where an undecided half message lies that was put again behind its queue.

A producer may decide a half message that it was asked about under the offsets it got when it sent it. All copies have
the same UNIQ_KEY and born timestamp, and another send of the same message has another born timestamp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rocketwire.server.stored_message import StoredMessage
from rocketwire.server.transactions.state import TransactionState
from rocketwire.wire import properties as property_names

Identity = tuple[str, int]
"""UNIQ_KEY and born timestamp."""

_STEP: Final = 64  # half messages
_OF_COPIES: Final = frozenset(
    {property_names.TRANSACTION_CHECK_TIMES, property_names.TRANSACTION_PREPARED_QUEUE_OFFSET}
)


def identity(message: StoredMessage, properties: Mapping[str, str]) -> Identity | None:
    """What a half message and its copies have in common; None when it has no UNIQ_KEY, as from no official client."""
    key = properties.get(property_names.UNIQ_KEY)
    return None if key is None else (key, message.born_timestamp)


def is_copy(properties: Mapping[str, str]) -> bool:
    """Whether a half message was put again."""
    return not _OF_COPIES.isdisjoint(properties)


class Copies:
    """The newest copies of one store; those that were there at the start are read when they are first needed."""

    def __init__(self, state: TransactionState) -> None:
        self._state = state
        self._newest: dict[Identity, int] = {}
        self._reading = self._read()

    def read(self) -> Iterator[None]:
        """Read what was there at the start, if that is not done yet; the caller may pause after each step."""
        return self._reading

    def _read(self) -> Iterator[None]:
        for count, (offset, message) in enumerate(self._state.undecided()):
            properties = message.decoded_properties()
            if is_copy(properties):
                self.put(identity(message, properties), offset)
            if count % _STEP == 0:
                yield

    def find(self, of: Identity | None) -> int | None:
        """Queue offset of the newest copy, None when there is none undecided."""
        for _ in self._reading:
            pass
        return None if of is None else self._newest.get(of)

    def put(self, of: Identity | None, offset: int) -> None:
        """Take note of a copy behind all others."""
        if of is not None:
            self._newest[of] = offset

    def forget(self, of: Identity | None, offset: int) -> None:
        """Take note that the copy at a queue offset has its outcome."""
        if of is not None and self._newest.get(of) == offset:
            del self._newest[of]
