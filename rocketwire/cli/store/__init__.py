"""`rocketwire store`: read-only commands on a store directory.

The directory may be of any broker, at rest or in use; these commands change nothing in it. `repair` writes a new one.

Begin with this file: it lists the subcommands.
May import: modules of `rocketwire/cli`, and what commands may; a module is imported when its command runs.
"""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    __name__,
    "Read a store directory of this or Apache's broker, at rest or in use. "
    "Nothing in it is changed: repair writes a new one beside one that no broker uses.",
    [
        ("info", "info", "what a store is, and what is in it"),
        ("list", "list:list_command", "the topics and queues of a store, or its consumer groups"),
        ("cat", "cat", "print the messages of a store"),
        ("columns", "columns", "make columns of all messages, for quick answers"),
        ("count", "list:count_command", "count messages by topic, tag and time, from the columns"),
        (
            "verify",
            "verify:verify_command",
            "check every record, queue entry, index entry and timer reference",
        ),
        ("repair", "verify:repair_command", "make a whole store of the remains of a damaged one"),
    ],
    aliases={"ls": "list"},
)
