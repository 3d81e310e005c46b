"""The process: serves until it is told to stop, and says what it cannot do.

What it is made of is put together in `server.serving`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

import trio

from rocketwire.server.announcing import NotAnnounced, announcing
from rocketwire.server.config.keys import ConfigError
from rocketwire.server.configuration import ServerConfig
from rocketwire.server.core.clock import system_clock
from rocketwire.server.core.logs import complain
from rocketwire.server.core.works import SWITCH_SECONDS
from rocketwire.server.net.addresses import HostUnknown
from rocketwire.server.net.descriptors import DescriptorsTooFew
from rocketwire.server.net.listener import AddressInUse
from rocketwire.server.net.tls.settings import TlsInvalid
from rocketwire.server.serving import serve
from rocketwire.server.upkeep.flush_thread import FlushThread
from rocketwire.store.errors import StoreError

log = logging.getLogger(__name__)

EXIT_USAGE: Final = 2


def run(config: ServerConfig) -> int:
    """Serve until SIGTERM or Ctrl-C; the exit code of the process. The log is the caller's to start."""
    _raise_descriptor_limit()
    sys.setswitchinterval(SWITCH_SECONDS)
    code = 0
    try:
        trio.run(_serve_until_signal, config)
    except* (
        AddressInUse,
        ConfigError,
        DescriptorsTooFew,
        HostUnknown,
        NotAnnounced,
        StoreError,
        TlsInvalid,
    ) as errors:
        for error in _leaves(errors):
            complain(config.log_format, str(error))
        code = EXIT_USAGE
    return code


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    return [
        leaf
        for error in group.exceptions
        for leaf in (_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    ]


async def _serve_until_signal(config: ServerConfig) -> None:
    with _cancelled_when_told(watch_stdin=config.watch_stdin):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_serve_and_announce, config)


@contextlib.contextmanager
def _cancelled_when_told(*, watch_stdin: bool) -> Iterator[None]:
    """Cancel what is done within at SIGTERM or Ctrl-C, and at the end of standard input if that is watched.

    Further ones change nothing, however long the stop takes. Not trio's receiver of signals: one that comes during the
    stop it would raise again at its end, as KeyboardInterrupt or worse.
    """
    token = trio.lowlevel.current_trio_token()
    scope = trio.CancelScope()

    def stop(number: int | None) -> None:
        if scope.cancel_called:
            return
        if number is None:
            log.info("stopping: standard input ended")
        else:
            log.info("stopping: %(signal)s", {"signal": signal.Signals(number).name})
        scope.cancel()

    def handle(number: int, _frame: FrameType | None) -> None:
        token.run_sync_soon(stop, number)

    def input_ended() -> None:
        with contextlib.suppress(trio.RunFinishedError):
            token.run_sync_soon(stop, None)

    if watch_stdin:
        descriptor = -1 if sys.stdin is None else sys.stdin.fileno()
        # Not a thread of trio's, which would have to end before the process can.
        threading.Thread(target=_read_to_the_end, args=(descriptor, input_ended), daemon=True).start()
    former = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with scope:
            yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _read_to_the_end(descriptor: int, ended: Callable[[], None]) -> None:
    with contextlib.suppress(OSError):  # input that cannot be read, or was never there, has ended
        while os.read(descriptor, 65536):
            pass
    ended()


async def _serve_and_announce(config: ServerConfig) -> None:
    with contextlib.ExitStack() as stack:
        announce = stack.enter_context(announcing(config))
        flush_thread = None
        if config.flush.sync_flush:
            flush_thread = stack.enter_context(contextlib.closing(FlushThread()))
            await flush_thread.warm_up()
        await serve(
            config,
            clock=system_clock,
            choose=secrets.randbelow,
            run_sync=trio.to_thread.run_sync,
            run_flush=flush_thread,
            ready=announce,
        )


def _raise_descriptor_limit() -> None:
    """Allow as many connections as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
