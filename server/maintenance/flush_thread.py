"""The thread in which SYNC_FLUSH waits for the disk.

It lives as long as the server and gets one call at a time. trio's own threads take 70 to 100 µs to be found, woken and
joined, as long as a fast disk takes; two pipes take 20: the loop writes a byte when there is a call, the thread one
when it is done.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import Final

import trio

_BYTE: Final = b"\0"


class FlushThread:
    """Runs blocking calls, one at a time, in a thread; `close` ends it.

    It is a `RunBlocking`: no call begins after cancellation, but a started one is awaited, and its result delivered.

    All system resources are taken here and in the first call (`warm_up`), so that later calls do not compete with
    connections for descriptors.

    Raises:
        OSError: there are no descriptors for its pipes.
        RuntimeError: there can be no further thread.
    """

    def __init__(self) -> None:
        self._action: Callable[[], None] | None = None
        self._error: BaseException | None = None
        with contextlib.ExitStack() as undo:
            self._request_read, self._request_write = _pipe(undo)
            self._done_read, self._done_write = _pipe(undo)
            self._thread: threading.Thread | None = threading.Thread(target=self._serve, name="flush", daemon=True)
            self._thread.start()
            undo.pop_all()

    async def warm_up(self) -> None:
        """Do nothing, once: that registers the pipe with the event loop.

        Raises:
            OSError: the event loop cannot wait for a further descriptor.
        """
        await self(lambda: None)

    async def __call__(self, action: Callable[[], None]) -> None:
        """Run `action` in the thread, and raise what it raises."""
        await trio.lowlevel.checkpoint_if_cancelled()
        self._action = action
        os.write(self._request_write, _BYTE)
        with trio.CancelScope(shield=True):
            await trio.lowlevel.wait_readable(self._done_read)
        os.read(self._done_read, 1)
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _serve(self) -> None:
        while os.read(self._request_read, 1):
            action, self._action = self._action, None
            assert action is not None  # noqa: S101 - it was put there before the byte was written
            try:
                action()
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                self._error = error
            action = None  # so that nothing of the store stays referenced between calls
            os.write(self._done_write, _BYTE)

    def close(self) -> None:
        """End the thread, between calls; closing it again does nothing."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        os.close(self._request_write)
        thread.join()
        for fd in (self._request_read, self._done_read, self._done_write):
            os.close(fd)


def _pipe(undo: contextlib.ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for fd in ends:
        undo.callback(os.close, fd)
    return ends
