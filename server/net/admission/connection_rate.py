"""How many connections of one address begin to be served in a second: further ones wait, and none is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_BURST_SECONDS: Final = 1.0
"""After a quiet time the connections of so many seconds begin at once."""
_CLEANED_AT: Final = 1024


class ConnectionRate:
    """The rate of each address.

    Of an address only one number is kept, the time at which its connections so far would have begun one by one at the
    rate ("generic cell rate algorithm"), and that only while it is in the future.
    """

    def __init__(self, rate: Callable[[], int]) -> None:
        """Allow `rate()` connections of one address in a second."""
        self._rate = rate
        self._paid_until: dict[str | bytes, float] = {}
        self._cleaned_at = _CLEANED_AT

    def allowed_at(self, address: str | bytes) -> float:
        """From when on the next connection of an address may begin, in seconds of the event loop."""
        return self._paid_until.get(address, 0.0) - _BURST_SECONDS

    def count(self, address: str | bytes, now: float) -> None:
        """Count a connection that begins now."""
        self._paid_until[address] = max(self._paid_until.get(address, 0.0), now) + 1 / self._rate()
        if len(self._paid_until) > self._cleaned_at:
            self._paid_until = {each: until for each, until in self._paid_until.items() if until > now}
            self._cleaned_at = max(_CLEANED_AT, 2 * len(self._paid_until))
