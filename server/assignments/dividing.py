"""Dividing a topic's queues among the clients of a group, as Apache's broker and clients do.

Queues are counted over all brokers of the topic, by the brokers' names; clients by their ids. Everything works with
these numbers, for a topic may have very many queues.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import accumulate
from typing import Final, TypeAlias

Share: TypeAlias = range
"""The numbers of the queues of one client."""
ANY_QUEUE: Final = -1
"""The queue id with which clients pop from any queue of a broker."""
Strategy: TypeAlias = Callable[[int, int, int], Share]
"""Called with the numbers of queues and of clients, and the client's own; gives its queues."""


def averagely(queues: int, clients: int, client: int) -> Share:
    """Give each client neighbouring queues, the first ones one more if it does not come out even."""
    each, rest = divmod(queues, clients)
    start = client * each + min(client, rest)
    return range(start, start + each + (client < rest))


def by_circle(queues: int, clients: int, client: int) -> Share:
    """Give the queues to the clients one after the other."""
    return range(client, queues, clients)


STRATEGIES: Final[Mapping[str, Strategy]] = {"AVG": averagely, "AVG_BY_CIRCLE": by_circle}
"""By the name that clients give; others are not known to Apache's broker either."""


def share_of(strategy: Strategy, queues: int, clients: int, client: int, others: int) -> Collection[int]:
    """The queues of a client and of so many clients behind it; with fewer queues than clients, one for each."""
    if clients > queues:
        return (client % queues,)
    found: set[int] = set()
    for number in range(client, client + others + 1):
        found.update(strategy(queues, clients, number % clients))
    return sorted(found)


def rank_of(client_id: str, client_ids: Iterable[str]) -> int:
    """How many of some clients come before one."""
    place = _java_order(client_id)
    return sum(_java_order(each) < place for each in client_ids)


def _java_order(text: str) -> bytes:
    """What sorts as Java's texts do."""
    return text.encode("utf-16-be", "surrogatepass")


class TopicQueues:
    """Queues of a topic, numbered over its brokers."""

    def __init__(self, by_broker: Mapping[str, int], *, first: int = 0) -> None:
        """Number the queues: by each broker's name how many it has, whose ids begin with `first`."""
        self._brokers = sorted([name for name, count in by_broker.items() if count > 0], key=_java_order)
        self._ends = list(accumulate(by_broker[name] for name in self._brokers))
        self._first = first

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, number: int) -> tuple[str, int]:
        """The broker and the queue id of a queue."""
        at = bisect_right(self._ends, number)
        return self._brokers[at], self._first + number - (self._ends[at - 1] if at else 0)

    def any_of_brokers(self) -> TopicQueues:
        """The queue that stands for any queue of a broker, of each of the brokers."""
        return TopicQueues(dict.fromkeys(self._brokers, 1), first=ANY_QUEUE)
