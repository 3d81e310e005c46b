"""`rocketwire namesrv`: the name servers of a running endpoint.

Begin with this file: it lists the subcommands. A module without a subcommand is shared by the others.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "namesrv",
    "Look at and configure the name servers of a running endpoint, this or Apache's.",
    [
        ("config", "rocketwire.cli.namesrv.config", "a name server's configuration"),
        ("kv", "rocketwire.cli.namesrv.kv", "the values that name servers keep"),
    ],
)
