"""The program `rocketwire`: its commands and where they are."""

from __future__ import annotations

from typing import Final

from rocketwire.cli.lazy import LazyGroup

MODULES: Final = {
    "topic": ("rocketwire.cli.topic", "look at and change topics"),
    "group": ("rocketwire.cli.group", "look at and change consumer groups"),
    "offset": ("rocketwire.cli.offset", "look at and set consumer groups' offsets"),
    "cluster": ("rocketwire.cli.cluster", "look at the brokers of a cluster"),
    "broker": ("rocketwire.cli.broker", "look at and configure brokers"),
    "namesrv": ("rocketwire.cli.namesrv", "look at and configure name servers"),
}

program: Final = LazyGroup(name="rocketwire", help="A RocketMQ name server and broker.", modules=MODULES)
