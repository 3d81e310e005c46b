"""The process: serves until a signal stops it, and reports errors in one line.

What it is made of is put together in `server.serving`.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import resource
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.server.announcing import NotAnnounced, ReadyServer, ready_reporter
from rocketwire.server.config.keys import ConfigError
from rocketwire.server.configuration import ServerConfig
from rocketwire.server.core.clocks.clock import system_clock
from rocketwire.server.core.logs import log_startup_error
from rocketwire.server.core.long_tasks import SWITCH_SECONDS
from rocketwire.server.core.random_below import RandomBelow
from rocketwire.server.following import wait_for_end
from rocketwire.server.maintenance.flush_thread import FlushThread
from rocketwire.server.net.addresses import HostUnknown
from rocketwire.server.net.admission.descriptors import DescriptorsTooFew
from rocketwire.server.net.listener import AddressInUse
from rocketwire.server.net.tls.settings import TlsInvalid
from rocketwire.server.serving import serve, serve_name_server
from rocketwire.server.supervisor.errors import BrokerNotStarted
from rocketwire.store.errors import StoreError

if TYPE_CHECKING:
    from rocketwire.server.members.link import SupervisorLink
    from rocketwire.server.proxy.settings import ProxySettings
    from rocketwire.server.supervising import ServerSettings

log = logging.getLogger(__name__)

EXIT_USAGE: Final = 2
_GC_THRESHOLDS: Final = (50_000, 1, 1000)
"""The middle generation has at most 100,000 objects: a pass over a million, which 25,000 polls at a proxy have, took
0.28 s. All objects are examined as seldom as with the thresholds 20 and 50 or so."""


def run(config: ServerConfig) -> int:
    """Serve until SIGTERM or Ctrl-C; the exit code of the process. The log is the caller's to start."""
    return _run(config, partial(_serve_and_announce, config))


def run_proxy(settings: ProxySettings) -> int:
    """Serve as the proxy of a cluster until SIGTERM or Ctrl-C; the exit code of the process."""
    return _run(settings.base, partial(_proxy_and_announce, settings))


def run_brokers(settings: ServerSettings) -> int:
    """Serve several brokers, each in a process, until SIGTERM or Ctrl-C; the exit code of the process."""
    return _run(settings.base, partial(_brokers_and_announce, settings))


def _run(config: ServerConfig, serving: Callable[[], Awaitable[None]]) -> int:
    _raise_descriptor_limit()
    sys.setswitchinterval(SWITCH_SECONDS)
    code = 0
    try:
        trio.run(_serve_until_signal, config, serving)
    except* (
        AddressInUse,
        BrokerNotStarted,
        ConfigError,
        DescriptorsTooFew,
        HostUnknown,
        NotAnnounced,
        StoreError,
        TlsInvalid,
    ) as errors:
        for error in _leaves(errors):
            log_startup_error(config.log_format, str(error))
        code = EXIT_USAGE
    return code


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    return [
        leaf
        for error in group.exceptions
        for leaf in (_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    ]


async def _serve_until_signal(config: ServerConfig, serving: Callable[[], Awaitable[None]]) -> None:
    with _cancelled_by_signals() as scope:
        async with trio.open_nursery() as nursery:
            if config.end_with is not None:
                nursery.start_soon(_end_with, config.end_with, scope)
            nursery.start_soon(serving)


async def _end_with(process_id: int, scope: trio.CancelScope) -> None:
    await wait_for_end(process_id)
    log.info("stopping: process %(process_id)d has ended", {"process_id": process_id})
    scope.cancel()


@contextlib.contextmanager
def _cancelled_by_signals() -> Iterator[trio.CancelScope]:
    """Cancel what is done within at SIGTERM or Ctrl-C. Further ones change nothing, however long the stop takes.

    Not trio's receiver: one that comes during the stop it would raise again at its end, as KeyboardInterrupt or worse.
    """
    token = trio.lowlevel.current_trio_token()
    scope = trio.CancelScope()

    def stop(number: int) -> None:
        if not scope.cancel_called:
            log.info("stopping: %(signal)s", {"signal": signal.Signals(number).name})
            scope.cancel()

    def handle(number: int, _frame: FrameType | None) -> None:
        token.run_sync_soon(stop, number)

    former = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with scope:
            yield scope
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


async def _serve_and_announce(config: ServerConfig) -> None:
    with contextlib.ExitStack() as stack:
        ready = stack.enter_context(_reporting(config))
        if not config.has_broker:
            await serve_name_server(config, clock=system_clock, run_sync=trio.to_thread.run_sync, ready=ready)
            return
        flush_thread = None
        if config.flush.sync_flush:
            flush_thread = stack.enter_context(contextlib.closing(FlushThread()))
            await flush_thread.warm_up()
        await serve(
            config,
            clock=system_clock,
            choose=RandomBelow(),
            run_sync=trio.to_thread.run_sync,
            run_flush=flush_thread,
            supervisor=_supervisor() if config.is_member else None,
            ready=ready,
        )


def _supervisor() -> SupervisorLink:
    from rocketwire.server.members.link import SupervisorLink  # noqa: PLC0415 - most servers have none

    return SupervisorLink.over_standard_streams()


async def _brokers_and_announce(settings: ServerSettings) -> None:
    from rocketwire.server.supervising import serve_brokers  # noqa: PLC0415 - most servers have one broker

    with _reporting(settings.base) as ready:
        await serve_brokers(settings, clock=system_clock, run_sync=trio.to_thread.run_sync, ready=ready)


async def _proxy_and_announce(settings: ProxySettings) -> None:
    from rocketwire.server.proxying import serve_proxy  # noqa: PLC0415 - a server without one is smaller

    with _reporting(settings.base) as ready:
        await serve_proxy(
            settings, clock=system_clock, choose=RandomBelow(), run_sync=trio.to_thread.run_sync, ready=ready
        )


@contextlib.contextmanager
def _reporting(config: ServerConfig) -> Iterator[Callable[[ReadyServer], None]]:
    """Give the function to call when all is ready: from then on the collector works, and the process reports it."""
    with ready_reporter(config) as report:

        def ready(server: ReadyServer) -> None:
            _set_the_collector()
            report(server)

        yield ready


def _set_the_collector() -> None:
    """Have the collector examine new objects only; today's stay. The command line has switched the collector off."""
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()


def _raise_descriptor_limit() -> None:
    """Allow as many connections as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
