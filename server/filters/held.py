"""Memory of the filters of held pulls: each filter counts once, however many pulls wait with it."""

from __future__ import annotations

from rocketwire.server.filters import MessageFilter


class FilterMemory:
    """Counts filters by identity: equal ones that were parsed twice take twice the memory.

    Attributes:
        size: The most bytes that all take.
    """

    __slots__ = ("_users", "size")

    def __init__(self) -> None:
        self._users: dict[int, int] = {}
        self.size = 0

    def size_with(self, wanted: MessageFilter) -> int:
        """The size of all together with this one."""
        return self.size if _identity(wanted) in self._users else self.size + wanted.size

    def take(self, wanted: MessageFilter) -> None:
        """Count a filter that a held pull keeps from now on."""
        if wanted.size:
            identity = _identity(wanted)
            users = self._users.get(identity, 0)
            self._users[identity] = users + 1
            if not users:
                self.size += wanted.size

    def drop(self, wanted: MessageFilter) -> None:
        """Uncount a filter that a held pull no longer keeps."""
        if wanted.size:
            identity = _identity(wanted)
            users = self._users[identity] - 1
            if users:
                self._users[identity] = users
            else:
                del self._users[identity]
                self.size -= wanted.size


def _identity(wanted: MessageFilter) -> int:
    """The identity of the object that takes the memory, which filters may share."""
    return id(wanted.by_properties if wanted.codes is None else wanted.codes)
