"""The syntax of quotas: `NAME=SEND/RECEIVE`, converted messages a second."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from rocketwire.server.core.metrics import SEND

OTHERS: Final = "*"
"""Stands for all names without a quota in the configuration."""

_SEPARATORS: Final = re.compile(r"[,\s]+")
_NONE: Final = "-"


class Quota(NamedTuple):
    """What one topic, group or account may send and receive; None: no limit."""

    send: int | None
    receive: int | None

    def of(self, direction: str) -> int | None:
        """The quota of a direction, `SEND` or `RECEIVE` of `metrics`."""
        return self.send if direction == SEND else self.receive


NO_QUOTA: Final = Quota(None, None)


class Quotas:
    """The quotas of topics, those of groups, or those of accounts."""

    __slots__ = ("_by_name", "_others")

    def __init__(self, by_name: dict[str, Quota]) -> None:
        self._others = by_name.get(OTHERS, NO_QUOTA)
        self._by_name = {name: quota for name, quota in by_name.items() if name != OTHERS}

    def of(self, name: str) -> Quota:
        """The quota of one name, its own or that of `*`."""
        return self._by_name.get(name, self._others)

    def __contains__(self, name: str) -> bool:
        """Whether a name has its own quota."""
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        """The names with their own quotas."""
        return iter(self._by_name)

    def any_of(self, direction: str) -> bool:
        """Whether there is a quota in a direction at all."""
        return any(quota.of(direction) is not None for quota in (self._others, *self._by_name.values()))


@lru_cache(maxsize=8)
def read_quotas(text: str) -> Quotas:
    """Parse the value of a key, which has the right form; of equal names the last counts."""
    by_name: dict[str, Quota] = {}
    for item in _SEPARATORS.split(text):
        name, _, rates = item.partition("=")
        if name:
            send, _, receive = rates.partition("/")
            by_name[name] = Quota(_rate(send), _rate(receive))
    return Quotas(by_name)


def _rate(text: str) -> int | None:
    return None if text == _NONE else int(text)


def instance_quota(tps: int, ratio: str) -> Quota:
    """A broker's quota: so many messages in both directions together, divided by a ratio such as `1:1`; 0: none.

    A direction with a part of the ratio has at least one message a second.
    """
    if not tps:
        return NO_QUOTA
    send, receive = map(int, ratio.split(":"))
    share = tps * send // (send + receive)
    return Quota(max(share, min(send, 1)), max(tps - share, min(receive, 1)))
