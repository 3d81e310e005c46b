"""`rocketwire dlq show`: the newest dead letters of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import INCOMPLETE
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.output import json_line, warn
from rocketwire.cli.parameter_types import GROUP

if TYPE_CHECKING:
    from rocketwire.cli.message.reading import BrokerMessage

_LAST: Final = 10
_BODY_SHOWN: Final = 200


_EPILOG: Final = """\
\b
Examples:
  rocketwire dlq show orders -n 3
"""


@click.command("show", cls=OnlineCommand, epilog=_EPILOG)
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option(
    "-n", "--last", metavar="N", type=click.IntRange(min=1), default=_LAST, show_default=True, help="The last N."
)
@json_option
@online
def command(endpoint: ClusterAccess, *, group: str, last: int, as_json: bool) -> int:
    """Show the newest dead letters of a group: when they became some, their topic, id, tag, keys and body.

    `message show ID --topic %DLQ%GROUP` shows all of one.
    """
    from rocketwire.cli.dlq.letters import origin_topic, topic_of
    from rocketwire.cli.message.reading import TopicReader
    from rocketwire.cli.shown_message import json_object

    complaints = 0

    def report(what: object) -> None:
        nonlocal complaints
        complaints += 1
        warn(str(what))

    with TopicReader(endpoint, topic_of(group), report) as reader:
        found = reader.read_last({queue: reader.offsets(queue) for queue in reader.queues()}, last)
    if as_json:
        for each in found:
            shown = json_object(each.one, report, broker=each.broker)
            json_line({**shown, "origin_topic": origin_topic(each.one)})
    elif found:
        _print(found)
    return 0 if found and not complaints else INCOMPLETE


def _print(found: list[BrokerMessage]) -> None:
    from rocketwire.cli.dlq.letters import origin_topic
    from rocketwire.cli.shown_message import body_of
    from rocketwire.cli.table import TableColumn, print_table
    from rocketwire.cli.times import shown

    columns = (
        TableColumn("DEAD SINCE (UTC)", time=True, least=16),
        TableColumn("TOPIC", least=8),
        TableColumn("MESSAGE ID", least=32),
        TableColumn("TAG", spare=2),
        TableColumn("KEYS", spare=3),
        TableColumn("PLACE", spare=1),
        TableColumn("BODY", least=8, text=True),
    )
    rows = (
        (
            shown(each.one.message.store_timestamp),
            origin_topic(each.one) or "?",
            each.one.message_id,
            each.one.tags or "-",
            " ".join(each.one.keys) or "-",
            f"{each.broker}:{each.one.message.queue_id}/{each.one.message.queue_offset}",
            (body_of(each.one, lambda what: warn(str(what))) or b"")[:_BODY_SHOWN].decode("utf-8", "replace"),
        )
        for each in found
    )
    print_table(columns, rows)
