"""Who keeps decisions (plans of the kernel) is told when something has changed that they were made from."""

from __future__ import annotations

from collections.abc import Callable


class Decisions:
    """Whoever changes what others decided from says so here, and it tells those who watch.

    Topics, groups, queues and the configuration call `changed`; subscriptions and their filters, which only pulls
    depend on and which change whenever consumers come and go, call `resubscribed`.
    """

    def __init__(self) -> None:
        self._watchers: list[Callable[[], None]] = []
        self._of_subscriptions: list[Callable[[], None]] = []

    def watch(self, forget: Callable[[], None], *, subscriptions: bool = False) -> None:
        """Have `forget` called at each change; at those of subscriptions only if it says so."""
        self._watchers.append(forget)
        if subscriptions:
            self._of_subscriptions.append(forget)

    def changed(self) -> None:
        """Something has changed: what was decided before may be decided otherwise now."""
        for forget in self._watchers:
            forget()

    def resubscribed(self) -> None:
        """Subscriptions have changed, and nothing else."""
        for forget in self._of_subscriptions:
            forget()
