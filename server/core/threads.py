"""Running work without blocking the event loop: in a thread, or in steps with a checkpoint between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Protocol, TypeVar

import trio

T = TypeVar("T")


class RunSync(Protocol):
    """Runs a blocking call without blocking the event loop: in a thread; tests have one that runs it inline."""

    def __call__(self, sync_fn: Callable[..., Any], *args: Any) -> Awaitable[Any]:  # noqa: ANN401
        """Await the call's result."""


async def run_with_checkpoints(steps: Generator[None, None, T]) -> T:
    """Run a generator to its end with a checkpoint after each step; return its value."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await trio.lowlevel.checkpoint()
