"""Ids of messages that are sent, as all clients make them; `wire.message_id.UniqueKey` says what is in them."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import Final

from rocketwire.remoting.clock import Clock
from rocketwire.wire.message_id import UniqueKey

_COUNTERS: Final = 1 << 16
_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class UniqueIds:
    """Makes ids that no other process makes.

    Args:
        host: The address of this machine, as text.
        process_id: The number of the process.
        entropy: Four random bytes, which tell producers of the same address and process number apart.
        clock: The wall time.
    """

    def __init__(self, host: str, process_id: int, entropy: bytes, clock: Clock) -> None:
        self._ip = ipaddress.ip_address(host.partition("%")[0]).packed
        self._process_id = process_id & 0xFFFF
        self._loader_hash = int.from_bytes(entropy, "big")
        self._clock = clock
        self._month = _EPOCH
        self._next = 0  # ms * 65536 + counter, of the next id

    def next(self) -> str:
        """A new id. Ids of a month rise, whatever the clock does: tools read the time of sending from them."""
        now = _EPOCH + self._clock() * _MILLISECOND
        month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        least = (now - month) // _MILLISECOND * _COUNTERS
        self._next = least if month > self._month else max(self._next, least)
        self._month = max(month, self._month)
        elapsed, counter = divmod(self._next, _COUNTERS)
        self._next += 1
        return str(
            UniqueKey(
                ip=self._ip,
                process_id=self._process_id,
                loader_hash=self._loader_hash,
                elapsed=elapsed,
                counter=counter,
            )
        )
