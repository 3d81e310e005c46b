"""Keys of fault injection: docs/faults.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketwire.server.config.keys import OURS, key

if TYPE_CHECKING:  # few servers have rules, and none needs their types for anything but their values
    from rocketwire.server.faults.rule import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKeys:
    """Whether fault rules may be in force, and those in force from the start."""

    fault_injection_enable: bool = key(
        "fault rules may be given over HTTP; --fault allows it too", default=False, known=OURS
    )
    rules: tuple[Rule, ...] = ()
    """The rules in force from the start; only the command line sets them."""

    @property
    def allowed(self) -> bool:
        """Whether fault rules may be in force, now or later."""
        return bool(self.rules) or self.fault_injection_enable
