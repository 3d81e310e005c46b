"""`rocketwire broker`: the brokers of a running endpoint.

Begin with this file: it lists the subcommands. A module without a subcommand is shared by the others.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "broker",
    "Look at and configure the brokers of a running endpoint, this or Apache's.",
    [
        ("config", "rocketwire.cli.broker.config", "a broker's configuration"),
        ("stats", "rocketwire.cli.broker.stats", "all that a broker tells of how it does"),
        ("wipe-write", "rocketwire.cli.broker.write_permission:wipe_command", "have producers leave a broker out"),
        ("add-write", "rocketwire.cli.broker.write_permission:add_command", "have producers use a broker again"),
    ],
)
