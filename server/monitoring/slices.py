"""Long work in slices, so that the event loop can serve clients meanwhile."""

from __future__ import annotations

from typing import Final

import trio

_SECONDS: Final = 0.003


class ScrapeSlices:
    """Lets other tasks run when a slice is over."""

    def __init__(self) -> None:
        self._began = trio.current_time()

    async def pause(self) -> None:
        """Continue, or let other tasks run first if the slice is over."""
        if trio.current_time() - self._began >= _SECONDS:
            await trio.lowlevel.checkpoint()
            self._began = trio.current_time()
