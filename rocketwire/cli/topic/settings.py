"""The options of `topic create` and `topic alter`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from rocketwire.cli.topic.shown import PERMISSIONS

if TYPE_CHECKING:
    from rocketwire.remoting.connection import BlockingConnection
    from rocketwire.wire.bodies.topic import TopicConfig

_TYPES: Final = ("NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED", "UNSPECIFIED")
_OPTIONS: Final = (
    click.option("--queues", metavar="N", type=click.IntRange(min=1), help="Queues to read and to write."),
    click.option("--read-queues", metavar="N", type=click.IntRange(min=1), help="Queues that consumers read."),
    click.option("--write-queues", metavar="N", type=click.IntRange(min=1), help="Queues that producers write."),
    click.option(
        "--perm",
        type=click.Choice(list(PERMISSIONS), case_sensitive=False),
        help="What clients may do: read, write or both; also as RocketMQ's number.",
    ),
    click.option(
        "--order/--no-order",
        "order",
        default=None,
        help="Whether keys stay with their queues while a broker is down: name servers keep the queues of each.",
    ),
    click.option(
        "--message-type",
        metavar="TYPE",
        type=click.Choice(_TYPES, case_sensitive=False),
        help=f"The messages that the topic takes: {', '.join(_TYPES)}. Brokers of 4.x do not know it.",
    ),
)


class TopicSettings(NamedTuple):
    """What the options say; None is what they leave as it is."""

    queues: int | None
    read_queues: int | None
    write_queues: int | None
    perm: str | None
    order: bool | None
    message_type: str | None

    def applied(self, config: TopicConfig) -> TopicConfig:
        """A configuration with these changes."""
        attributes = config.attributes
        if self.message_type is not None:
            attributes = {**(attributes or {}), "message.type": self.message_type}
        return replace(
            config,
            read_queue_nums=self.read_queues or self.queues or config.read_queue_nums,
            write_queue_nums=self.write_queues or self.queues or config.write_queue_nums,
            perm=config.perm if self.perm is None else PERMISSIONS[self.perm],
            order=config.order if self.order is None else self.order,
            attributes=attributes,
        )

    def check(self, broker: BlockingConnection) -> None:
        """Raise Unsuccessful if a broker does not know what the options set."""
        from rocketwire.cli.errors import CommandFailed
        from rocketwire.remoting.admin.topics import knows_attributes

        if self.message_type is not None and not knows_attributes(broker):
            raise CommandFailed("it does not know message types; nothing is changed there")


def topic_settings(function: Any) -> Any:  # noqa: ANN401 - of click's decorators
    """Add the options of a topic's configuration to a command, with an argument for each field of `TopicSettings`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
