"""Ending with another process: with the one that has started the server, however that one ends."""

from __future__ import annotations

import os
from typing import Final

import trio

_LOOK_SECONDS: Final = 0.25


async def wait_for_end(process_id: int) -> None:
    """Return when a process has ended; at once if there is none."""
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # an old kernel, a sandbox, or not Linux
        while _is_alive(process_id):  # noqa: ASYNC110 - there is no event for it
            await trio.sleep(_LOOK_SECONDS)
        return
    try:
        await trio.lowlevel.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is another user's
    return True
