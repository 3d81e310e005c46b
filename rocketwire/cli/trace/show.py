"""`rocketwire trace show`: the events of a message from its producer to its consumers, with times."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from rocketwire.cli.ending import ended
from rocketwire.cli.mistake import Unsuccessful
from rocketwire.cli.name_server import add_name_server, connected
from rocketwire.cli.output import json_line
from rocketwire.cli.times import shown
from rocketwire.wire.names import TRACE_TOPIC

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands
    from rocketwire.cli.trace.query import Reported
    from rocketwire.cli.trace.timeline import TimelineEvent
    from rocketwire.remoting.cluster import Cluster
    from rocketwire.wire.trace import SendTrace

_EPILOG = """\
Clients with enableMsgTrace report what they do into the trace topic, after up to a few seconds; when a message was
stored its broker tells. MSGID is the id that send returned, or the offset message id. Exit code: 0; 1 when there is no
trace of it; 2 for a wrong option; 3 when the endpoint is unreachable. docs/command-line.md tells more."""

_ADVICE: Final = "clients leave traces only with enableMsgTrace, a few seconds after they sent or consumed"


def add_parser(commands: Commands) -> None:
    """Add `show` to the commands."""
    parser = commands.add_parser(
        "show",
        help="when a message was sent, stored and consumed, by whom",
        description="Show when a message was sent, stored and consumed, by whom, and what came of it.",
        epilog=_EPILOG,
    )
    parser.add_argument("message_id", metavar="MSGID", help="the message's id")
    parser.add_argument(
        "--topic", metavar="TRACE_TOPIC", default=TRACE_TOPIC, help=f"where traces are (default {TRACE_TOPIC})"
    )
    add_name_server(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=ended(_show))


def _show(options: argparse.Namespace) -> int:
    from rocketwire.cli.trace.query import messages_of
    from rocketwire.cli.trace.timeline import timeline
    from rocketwire.wire.trace import SendTrace

    with connected(options) as cluster:
        message_id, reports = _found(cluster, options.topic, options.message_id)
        sent = next((each.trace for each in reports if isinstance(each.trace, SendTrace)), None)
        topic = None if sent is None else sent.topic
        events = timeline(reports, [] if topic is None else messages_of(cluster, topic, message_id))
    if options.json:
        json_line(
            {
                "message_id": message_id,
                "topic": topic,
                "tags": None if sent is None else sent.tags,
                "keys": None if sent is None else sent.keys,
                "events": [asdict(event) for event in events],
            }
        )
    else:
        _write(message_id, sent, events)
    return 0


def _found(cluster: Cluster, trace_topic: str, message_id: str) -> tuple[str, list[Reported]]:
    """The id by which a message is traced, and its traces.

    Raises:
        Unsuccessful: there are none.
    """
    from rocketwire.cli.trace.query import traces_of, unique_key_of
    from rocketwire.remoting.errors import NoSuchTopic

    try:
        found = traces_of(cluster, trace_topic, message_id)
    except NoSuchTopic as error:
        raise Unsuccessful(f"{error}; {_ADVICE}") from error
    if not found and (unique_key := unique_key_of(cluster, message_id)) is not None:
        message_id = unique_key
        found = traces_of(cluster, trace_topic, message_id)
    if not found:
        raise Unsuccessful(f"{message_id}: no trace in {trace_topic}; {_ADVICE}")
    return message_id, found


def _write(message_id: str, sent: SendTrace | None, events: list[TimelineEvent]) -> None:
    from rocketwire.cli.table import Column, clean, print_table

    named = () if sent is None else (("topic", sent.topic), ("tag", sent.tags), ("keys", sent.keys))
    print(clean(", ".join([f"message {message_id}", *(f"{name} {text}" for name, text in named if text)])))
    start = next((event.time for event in events if event.time is not None), 0)
    columns = (
        Column("TIME (UTC)", least=23),
        Column("AFTER", right=True),
        Column("EVENT"),
        Column("GROUP", least=12),
        Column("HOST", least=15),
        Column("COST", right=True),
        Column("RESULT"),
        Column("DETAILS", least=16),
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
