"""`rocketwire namesrv kv`: the values that name servers keep, by namespace and key."""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import lazy_group

command: Final = lazy_group(
    "kv",
    "Look at and change the values that name servers keep, such as ORDER_TOPIC_CONFIG, the queues of ordered topics.",
    [
        ("show", "rocketwire.cli.namesrv.kv.show", "one value"),
        ("put", "rocketwire.cli.namesrv.kv.put", "set a value"),
        ("delete", "rocketwire.cli.namesrv.kv.delete", "remove a value"),
        ("list", "rocketwire.cli.namesrv.kv.list", "all values of a namespace"),
    ],
    aliases={"get": "show"},
)
