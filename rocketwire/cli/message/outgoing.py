"""Messages to send, and the ids that producers give."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from rocketwire.server.core.clock import system_clock
from rocketwire.wire import properties as names
from rocketwire.wire.message_id import UniqueKey

_COUNTERS: Final = 1 << 16
_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A message to send.

    Attributes:
        properties: With its tag, its keys and, if it has one already, its id.
        queue_id: The queue to send it to, modulo the number of queues; None for any.
        order_key: Messages with the same one go to the same queue, in their order; None for any queue.
        reconsume_times: How often it was tried before; of messages for retry topics.
    """

    topic: str
    body: bytes = field(repr=False)
    properties: dict[str, str] = field(default_factory=dict)
    flag: int = 0
    queue_id: int | None = None
    order_key: str | None = None
    reconsume_times: int = 0

    @property
    def message_id(self) -> str:
        """Its unique key; empty if it has none yet."""
        return self.properties.get(names.UNIQ_KEY, "")

    def with_id(self, ids: UniqueIds) -> Outgoing:
        """The same with an id."""
        if self.message_id:
            return self
        return replace(self, properties={names.UNIQ_KEY: ids.next(), **self.properties})


class UniqueIds:
    """Makes ids as all clients do; `host` is the address of this machine."""

    def __init__(self, host: str) -> None:
        self._ip = ipaddress.ip_address(host.partition("%")[0]).packed
        self._process_id = os.getpid() & 0xFFFF
        self._entropy = int.from_bytes(os.urandom(4), "big")
        now = _EPOCH + system_clock() * _MILLISECOND
        month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        self._next = (now - month) // _MILLISECOND * _COUNTERS

    def next(self) -> str:
        """A new id; ids rise."""
        elapsed, counter = divmod(self._next, _COUNTERS)
        self._next += 1
        return str(
            UniqueKey(
                ip=self._ip,
                process_id=self._process_id,
                loader_hash=self._entropy,
                elapsed=elapsed,
                counter=counter,
            )
        )
