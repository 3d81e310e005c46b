"""Where a server's start meets faults: what carries them out is imported only where they are allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rocketwire.server.config.config import ServerConfig
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.net.session import Session

if TYPE_CHECKING:
    from rocketwire.server.operations.faults.faulty import Faults, FaultyDispatcher


def allowed_faults(config: ServerConfig, choose: Callable[[int], int], metrics: Metrics) -> Faults | None:
    """What strikes requests, or None where nothing may.

    Args:
        config: Says whether faults are allowed, and which rules there are from the start.
        choose: Gives a number by chance: one below its argument, each as likely.
        metrics: Counts what strikes.
    """
    if not config.faults_allowed:
        return None
    from rocketwire.server.operations.faults.faulty import Faults  # noqa: PLC0415 - see above

    return Faults(config.faults, choose=choose, metrics=metrics)


def no_faults(
    dispatcher: FrameDispatcher, on_close: Callable[[Session], None], _listener: str
) -> tuple[FrameDispatcher | FaultyDispatcher, Callable[[Session], None]]:
    """Serve a listener's sessions as they are: `Faults.in_front` where nothing is struck."""
    return dispatcher, on_close


def banner_lines(config: ServerConfig) -> Iterator[str]:
    """What the person who started the server is told: nobody is to take this endpoint for a healthy one."""
    if config.faults:
        from rocketwire.server.operations.faults.grammar import rule_text  # noqa: PLC0415 - see above

        yield "  FAULTS: this endpoint misbehaves on purpose, by these rules (docs/faults.md):"
        yield from (f"    {rule_text(rule)}" for rule in config.faults)
    elif config.fault_injection_enable:
        yield "  FAULTS: may be asked for over HTTP (faultInjectionEnable, docs/faults.md)"
