"""`rocketwire broker`: the brokers of a running endpoint.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Show and configure the brokers of a running endpoint, this or Apache's.",
    [
        ("config", "commands:config_command", "a broker's configuration"),
        ("stats", "commands:stats_command", "all figures that a broker reports"),
        ("wipe-write", "commands:wipe_command", "have producers leave a broker out"),
        ("add-write", "commands:add_command", "have producers use a broker again"),
    ],
)
