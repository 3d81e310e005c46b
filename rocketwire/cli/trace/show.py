"""`rocketwire trace show`: the events of a message from its producer to its consumers, with times."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import json_line
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.table import TableColumn, clean, print_table
from rocketwire.cli.times import shown
from rocketwire.wire.names import TRACE_TOPIC

if TYPE_CHECKING:
    from rocketwire.cli.trace.query import ReportedTrace
    from rocketwire.cli.trace.timeline import TimelineEvent
    from rocketwire.remoting.cluster import BlockingCluster
    from rocketwire.wire.trace import SendTrace

_EPILOG: Final = """\
Clients with enableMsgTrace report what they do into the trace topic, after up to a few seconds; when a message was
stored is queried from its broker. MSGID is the id that send returned, or the offset message id. Times are those of the
machines
that report. Exit code 1: there is no trace of it.

\b
Examples:
  rocketwire trace show C000020201C14E0E2F2A68F2FE7800DC
  rocketwire trace show 7F00000100002A9F0000000000000000 --json
  rocketwire message trace C000020201C14E0E2F2A68F2FE7800DC # the same command
"""

_ADVICE: Final = "clients leave traces only with enableMsgTrace, a few seconds after they sent or consumed"


@online_command("show", _EPILOG)
@click.argument("message_id", metavar="MSGID")
@click.option(
    "--topic",
    metavar="TRACE_TOPIC",
    type=TOPIC,
    default=TRACE_TOPIC,
    show_default=True,
    help="The topic that clients report to.",
)
def command(endpoint: ClusterAccess, message_id: str, topic: str, *, as_json: bool) -> int:
    """Show when a message was sent, stored and consumed, by whom, and what came of it."""
    from rocketwire.cli.trace.query import messages_of
    from rocketwire.cli.trace.timeline import timeline
    from rocketwire.wire.trace import SendTrace

    with endpoint.connected() as cluster:
        message_id, reports = _found(cluster, topic, message_id)
        sent = next((each.trace for each in reports if isinstance(each.trace, SendTrace)), None)
        sent_to = None if sent is None else sent.topic
        events = timeline(reports, [] if sent_to is None else messages_of(cluster, sent_to, message_id))
    if as_json:
        json_line(
            {
                "message_id": message_id,
                "topic": sent_to,
                "tags": None if sent is None else sent.tags,
                "keys": None if sent is None else sent.keys,
                "events": [asdict(event) for event in events],
            }
        )
    else:
        _write(message_id, sent, events)
    return 0


def _found(cluster: BlockingCluster, trace_topic: str, message_id: str) -> tuple[str, list[ReportedTrace]]:
    """The id by which a message is traced, and its traces.

    Raises:
        NoSuchTopic: there is no such trace topic.
        Unsuccessful: there are no traces.
    """
    from rocketwire.cli.trace.query import traces_of, unique_key_of
    from rocketwire.remoting.errors import NoSuchTopic

    try:
        found = traces_of(cluster, trace_topic, message_id)
    except NoSuchTopic as error:
        if trace_topic != TRACE_TOPIC:  # a name that was typed: the nearest one is of more help
            raise
        raise CommandFailed(f"{error}; {_ADVICE}") from error
    if not found and (unique_key := unique_key_of(cluster, message_id)) is not None:
        message_id = unique_key
        found = traces_of(cluster, trace_topic, message_id)
    if not found:
        raise CommandFailed(f"{message_id}: no trace in {trace_topic}; {_ADVICE}")
    return message_id, found


def _write(message_id: str, sent: SendTrace | None, events: list[TimelineEvent]) -> None:
    named = () if sent is None else (("topic", sent.topic), ("tag", sent.tags), ("keys", sent.keys))
    print(clean(", ".join([f"message {message_id}", *(f"{name} {text}" for name, text in named if text)])))
    start = next((event.time for event in events if event.time is not None), 0)
    columns = (
        TableColumn("TIME (UTC)", least=23),
        TableColumn("AFTER", right=True),
        TableColumn("EVENT"),
        TableColumn("GROUP", least=12),
        TableColumn("HOST", least=15),
        TableColumn("COST", right=True),
        TableColumn("RESULT"),
        TableColumn("DETAILS", least=16),
    )
    rows = (
        (
            shown(event.time),
            "" if event.time is None else f"+{event.time - start} ms",
            event.what,
            event.group or "",
            event.host or "",
            "" if event.cost is None else f"{event.cost} ms",
            event.result or "",
            event.details,
        )
        for event in events
    )
    print_table(columns, rows)
