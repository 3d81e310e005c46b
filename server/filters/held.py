"""What the filters of held pulls take of memory: each counts once, however many wait with it."""

from __future__ import annotations

from rocketwire.server.filters import MessageFilter


class HeldFilters:
    """Counts filters by what they are made of: equal ones that were read twice take twice as much.

    Attributes:
        size: Bytes that all take, at most.
    """

    __slots__ = ("_users", "size")

    def __init__(self) -> None:
        self._users: dict[int, int] = {}
        self.size = 0

    def size_with(self, wanted: MessageFilter) -> int:
        """What all would take with this one."""
        return self.size if _identity(wanted) in self._users else self.size + wanted.size

    def take(self, wanted: MessageFilter) -> None:
        """Count a filter that somebody keeps from now on."""
        if wanted.size:
            identity = _identity(wanted)
            users = self._users.get(identity, 0)
            self._users[identity] = users + 1
            if not users:
                self.size += wanted.size

    def drop(self, wanted: MessageFilter) -> None:
        """One who kept it does no more; it has not gone yet."""
        if wanted.size:
            identity = _identity(wanted)
            users = self._users[identity] - 1
            if users:
                self._users[identity] = users
            else:
                del self._users[identity]
                self.size -= wanted.size


def _identity(wanted: MessageFilter) -> int:
    """Of what takes its memory, which others may share; it stays that one's while it is kept."""
    return id(wanted.by_properties if wanted.codes is None else wanted.codes)
