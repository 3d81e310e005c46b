"""Events: the owner of some state notifies subscribers of changes, without knowing them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Event(Generic[P]):
    """Calls its listeners, in the order in which they subscribed, each time that it is called."""

    __slots__ = ("_listeners",)

    def __init__(self, *listeners: Callable[P, object]) -> None:
        self._listeners = list(listeners)

    def subscribe(self, listener: Callable[P, object]) -> None:
        """Have a listener called from now on."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: Callable[P, object]) -> None:
        """Have a listener called no more."""
        self._listeners = [each for each in self._listeners if each != listener]

    def __bool__(self) -> bool:
        """Whether there are subscribers; without them the event's arguments need not be computed."""
        return bool(self._listeners)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all listeners."""
        for listener in self._listeners:
            listener(*args, **kwargs)
