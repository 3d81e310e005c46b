"""`rocketwire namesrv`: the name servers of a running endpoint.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Show and configure the name servers of a running endpoint, this or Apache's.",
    [
        ("config", "commands:config_command", "a name server's configuration"),
        ("kv", "commands:kv_command", "the values that name servers keep"),
    ],
)
