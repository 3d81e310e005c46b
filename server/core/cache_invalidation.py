"""Cache invalidation: informs the caches of decisions, such as the kernel's plans, that their inputs have changed."""

from __future__ import annotations

from collections.abc import Callable

from rocketwire.store.event import Event


class CacheInvalidation:
    """Connects what decisions are made from with the caches that keep those decisions.

    A change of a topic, a group, a queue or the configuration invalidates all caches. A change of a subscription or its
    filter invalidates only those that depend on subscriptions: such changes are frequent, for consumers come and go,
    and only pulls depend on them.
    """

    def __init__(self) -> None:
        self._caches = Event[[]]()
        self._subscription_caches = Event[[]]()

    def register(self, forget: Callable[[], None], *, subscriptions: bool = False) -> None:
        """Call `forget` at each `invalidate`, and with `subscriptions` also at each `invalidate_subscriptions`."""
        self._caches.subscribe(forget)
        if subscriptions:
            self._subscription_caches.subscribe(forget)

    def invalidate(self) -> None:
        """Invalidate all caches: a topic, a group, a queue or the configuration has changed."""
        self._caches()

    def invalidate_subscriptions(self) -> None:
        """Invalidate the caches that depend on subscriptions: nothing else has changed."""
        self._subscription_caches()
