"""`rocketwire store ls`: list the topics, queues and consumer groups of a store."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from rocketwire.cli.ending import ended
from rocketwire.cli.output import json_line, number, size, warn
from rocketwire.cli.store.directory import add_directory, opened
from rocketwire.cli.times import shown
from rocketwire.cli.waiting import waits

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands
    from rocketwire.store.archive.plan.summary import GroupLag, QueueSummary


def add_parser(commands: Commands) -> None:
    """Add `ls` to the commands."""
    parser = commands.add_parser(
        "ls",
        help="the topics and queues of a store, or its consumer groups",
        description=(
            "List the queues of a store: MIN is the offset of the first message, MAX that of the next one. "
            "RocketMQ's own topics are left out."
        ),
    )
    add_directory(parser)
    parser.add_argument("--all-topics", action="store_true", help="RocketMQ's own topics too")
    parser.add_argument("--groups", action="store_true", help="list the consumer groups and their lag instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.set_defaults(run=ended(_ls))


def _ls(options: argparse.Namespace) -> int:
    from rocketwire.store.archive.plan.summary import group_lags, queue_summaries
    from rocketwire.store.archive.read.directory import State
    from rocketwire.wire.names import is_system_topic_of_any_version

    directory = opened(options)
    if directory.state in (State.CRASHED, State.UNKNOWN):
        warn(f"{directory.root} is {directory.state.value}; its queues may lack the newest messages")

    def wanted(topic: str) -> bool:
        return options.all_topics or not is_system_topic_of_any_version(topic)

    with waits.during(f"reading {directory.root}"):
        if options.groups:
            _print_groups(group_lags(directory, wanted), json=options.json)
        else:
            _print_queues(queue_summaries(directory, wanted), json=options.json)
    return 0


def _print_queues(queues: Iterable[QueueSummary], *, json: bool) -> None:
    if json:
        for queue in queues:
            json_line(queue)
        return
    from rocketwire.cli.table import Column, print_table

    columns = (
        Column("TOPIC", least=16),
        Column("QUEUE", right=True),
        Column("MIN", right=True),
        Column("MAX", right=True),
        Column("MESSAGES", right=True),
        Column("SIZE", right=True, spare=2),
        Column("FIRST STORED (UTC)", least=16, time=True, spare=1),
        Column("LAST STORED (UTC)", least=16, time=True, spare=3),
    )
    rows = (
        (
            queue.topic,
            str(queue.queue_id),
            number(queue.min_offset),
            number(queue.max_offset),
            number(queue.messages),
            size(queue.bytes),
            shown(queue.first_store_time),
            shown(queue.last_store_time),
        )
        for queue in queues
    )
    print_table(columns, rows)


def _print_groups(groups: Iterable[GroupLag], *, json: bool) -> None:
    if json:
        for group in groups:
            queues = [{**asdict(queue), "lag": queue.lag} for queue in group.queues]
            json_line({"group": group.group, "topic": group.topic, "lag": group.lag, "queues": queues})
        return
    from rocketwire.cli.table import Column, print_table

    columns = (
        Column("GROUP", least=16),
        Column("TOPIC", least=16),
        Column("QUEUES", right=True),
        Column("LAG", right=True),
    )
    rows = ((group.group, group.topic, number(len(group.queues)), number(group.lag)) for group in groups)
    print_table(columns, rows)
