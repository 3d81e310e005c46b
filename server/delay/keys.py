"""Keys of delay levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.keys import key

_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayKeys:
    """The delay levels."""

    message_delay_level: str = key(
        "the delays of level 1, 2 and so on",
        default="1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
        form=(
            r"[0-9]{1,9}[smhd]( [0-9]{1,9}[smhd])*",
            "delays such as 10s 5m 2h 1d with a blank between two",
        ),
    )

    @property
    def levels(self) -> tuple[int, ...]:
        """The delays of level 1, 2 and so on in milliseconds."""
        return tuple(int(each[:-1]) * _UNIT_MS[each[-1]] for each in self.message_delay_level.split(" "))
