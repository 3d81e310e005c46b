"""`rocketwire compat`: whether the official clients work with an endpoint, one module per subcommand."""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "compat",
    "Find out whether the official clients work with an endpoint, this or another.",
    [
        ("report", "rocketwire.cli.compat.report", "make one report of the results of earlier runs"),
    ],
)
