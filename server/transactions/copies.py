"""Newest copies: the place of an undecided half message that was put again behind its queue.

A producer may decide a half message after a back-check under the offsets it got when it sent it. All copies have
the same UNIQ_KEY, born timestamp and topic, and another send of the same message has another born timestamp. A client
that may send to another topic may use the same key and timestamp, so the topic counts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rocketwire.server.core.errors import ServiceUnavailable
from rocketwire.server.messages.stored_message import StoredMessage
from rocketwire.server.transactions.state import TransactionState
from rocketwire.wire import names
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.properties import property_value

Identity = bytes
"""Born timestamp, length of UNIQ_KEY, UNIQ_KEY, and the topic that the message is for if it names one."""

_STEP: Final = 4  # half messages
_MOST_STEPS: Final = 1024  # for which a decision may have to wait: some 10 ms
_UNIQ_KEY: Final = property_names.UNIQ_KEY.encode()
_REAL_TOPIC: Final = property_names.REAL_TOPIC.encode()
_WAIT_IN: Final = frozenset({names.TRANS_HALF_TOPIC, names.TRANS_CHECK_MAX_TIME_TOPIC})
_OF_COPIES: Final = (
    property_names.TRANSACTION_CHECK_TIMES.encode(),
    property_names.TRANSACTION_PREPARED_QUEUE_OFFSET.encode(),
)


def identity(message: StoredMessage) -> Identity | None:
    """What a half message and its copies have in common; None when it has no UNIQ_KEY, as from no official client."""
    key = property_value(message.properties, _UNIQ_KEY)
    if key is None:
        return None
    waits = message.topic in _WAIT_IN  # else the topic is the real one, and the sender may put anything into REAL_TOPIC
    topic = property_value(message.properties, _REAL_TOPIC) if waits else message.topic.encode()
    return b"%d %d %b%b" % (message.born_timestamp, len(key), key, b"" if topic is None else b" " + topic)


def is_copy(message: StoredMessage) -> bool:
    """Whether a half message was put again."""
    return any(property_value(message.properties, name) is not None for name in _OF_COPIES)


class HalfMessageCopies:
    """The half messages of one store that were put again, and the places of the undecided ones.

    Those that exist at the start are read bit by bit. An original and its copies are all undecided together only if
    Apache's broker, which takes no note of what it puts again, was killed before it wrote its offsets down.

    Attributes:
        start: Queue offset behind the half messages that existed at the start.
    """

    def __init__(self, state: TransactionState) -> None:
        self._state = state
        self.start = state.end
        #: Arrays: the garbage collector skips them; it would stop the event loop for 5 ms with each 50,000.
        self._copies: dict[Identity, array[int]] = {}
        self._reading = self._read()
        self._read_all = False

    def read(self) -> Iterator[None]:
        """Read what existed at the start, if that is not done yet; the caller may pause after each step."""
        if not self._read_all:
            self._reading = self._read()  # from the beginning: an error of the disk ends one for good
        return self._reading

    def _read(self) -> Iterator[None]:
        known: dict[Identity, array[int]] = {}
        for count, (offset, message) in enumerate(self._state.undecided()):
            of = identity(message)
            if of is not None and is_copy(message):
                known.setdefault(of, array("q")).append(offset)
            if count % _STEP == 0:
                yield
        if known:  # else there is nothing to find originals of
            for count, (offset, message) in enumerate(self._state.undecided()):
                of = identity(message)
                if of in known and not is_copy(message):
                    known[of].append(offset)
                if count % _STEP == 0:
                    yield
        self._copies = known
        self._read_all = True

    def find(self, message: StoredMessage) -> int | None:
        """Queue offset of a half message's newest copy, None when there is none undecided.

        Raises:
            ServiceUnavailable: as `undecided`.
        """
        return max(self.undecided(message), default=None)

    def undecided(self, message: StoredMessage) -> list[int]:
        """Queue offsets of all undecided ones of a half message that has copies, itself among them.

        Raises:
            ServiceUnavailable: so many half messages existed at the start that they are not all read yet.
        """
        if not self._read_all:
            for _ in islice(self._reading, _MOST_STEPS):
                pass
            if not self._read_all:
                raise ServiceUnavailable("half messages are still being read")
        of = identity(message)
        if of is None:
            return []
        return [offset for offset in sorted(self._copies.get(of, ())) if self._state.is_undecided(offset)]

    def __len__(self) -> int:
        """How many half messages are known to have copies."""
        return len(self._copies)

    def put(self, message: StoredMessage, offset: int) -> None:
        """Take note of a half message's copy behind all others."""
        of = identity(message)
        if of is not None:
            self._copies.setdefault(of, array("q")).append(offset)

    def forget(self, message: StoredMessage) -> None:
        """Take note that some of a half message and its copies were decided."""
        of = identity(message)
        if of is not None and of in self._copies and not self.undecided(message):
            del self._copies[of]
