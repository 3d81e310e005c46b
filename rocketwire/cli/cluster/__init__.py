"""`rocketwire cluster`: the brokers of a running endpoint's clusters.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Show the brokers of a running endpoint, this or Apache's.",
    [("show", "show", "each broker's address, version, load and disk")],
)
