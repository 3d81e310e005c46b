"""Long work in slices, so that the event loop serves clients meanwhile."""

from __future__ import annotations

from typing import Final

import trio

_SECONDS: Final = 0.003


class Slices:
    """Lets other tasks have their turn when a slice is over."""

    def __init__(self) -> None:
        self._began = trio.current_time()

    async def pause(self) -> None:
        """Go on, or let others go first if it has been long enough."""
        if trio.current_time() - self._began >= _SECONDS:
            await trio.lowlevel.checkpoint()
            self._began = trio.current_time()
