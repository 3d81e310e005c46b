"""Who keeps decisions (plans of the kernel) is told when something has changed that they were made from."""

from __future__ import annotations

from collections.abc import Callable


class Decisions:
    """Topics, groups, subscriptions, queues and the configuration call `changed`; it tells all who watch."""

    def __init__(self) -> None:
        self._watchers: list[Callable[[], None]] = []

    def watch(self, forget: Callable[[], None]) -> None:
        """Have `forget` called at each change."""
        self._watchers.append(forget)

    def changed(self) -> None:
        """Something has changed: what was decided before may be decided otherwise now."""
        for forget in self._watchers:
            forget()
