"""Fault injection at start: its code is imported only if the configuration allows faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.faults.keys import FaultKeys

if TYPE_CHECKING:
    from rocketwire.server.faults.faulty import FaultInjection


def allowed_faults(keys: FaultKeys, choose: Callable[[int], int], metrics: Metrics) -> FaultInjection | None:
    """The fault state, or None if faults are not allowed.

    Args:
        keys: Has whether faults are allowed, and the rules to begin with.
        choose: Returns a random number below its argument, uniformly.
        metrics: Counts matches by action.
    """
    if not keys.allowed:
        return None
    from rocketwire.server.faults.faulty import FaultInjection  # noqa: PLC0415 - see above

    return FaultInjection(keys.rules, choose=choose, metrics=metrics)


def banner_lines(keys: FaultKeys) -> Iterator[str]:
    """Warnings for the console at start: no user should take this endpoint for a healthy one."""
    if keys.rules:
        from rocketwire.server.faults.grammar import rule_text  # noqa: PLC0415 - see above

        yield "  FAULTS: this endpoint misbehaves on purpose, by these rules (docs/faults.md):"
        yield from (f"    {rule_text(rule)}" for rule in keys.rules)
    elif keys.fault_injection_enable:
        yield "  FAULTS: may be asked for over HTTP (faultInjectionEnable, docs/faults.md)"
