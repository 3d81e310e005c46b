"""The program `rocketwire`: its commands and where they are."""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import LazyGroup

MODULES: Final = {
    "topic": ("rocketwire.cli.topic", "look at and change topics"),
    "message": ("rocketwire.cli.message", "send, follow, find and copy messages"),
    "dlq": ("rocketwire.cli.dlq", "dead letters: list them, and send them again"),
    "top": ("rocketwire.cli.top", "watch the traffic of topics and groups"),
}

program: Final = LazyGroup(name="rocketwire", help="A RocketMQ name server and broker.", modules=MODULES)
