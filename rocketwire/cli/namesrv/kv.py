"""`rocketwire namesrv kv`: the values that name servers keep, by namespace and key."""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "kv",
    "Look at and change the values that name servers keep, such as ORDER_TOPIC_CONFIG, the queues of ordered topics.",
    [
        ("show", "rocketwire.cli.namesrv.key_values:show_command", "one value"),
        ("put", "rocketwire.cli.namesrv.key_values:put_command", "set a value"),
        ("delete", "rocketwire.cli.namesrv.key_values:delete_command", "remove a value"),
        ("list", "rocketwire.cli.namesrv.key_values:list_command", "all values of a namespace"),
    ],
    aliases={"get": "show"},
)
