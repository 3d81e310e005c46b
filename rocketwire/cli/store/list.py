"""`rocketwire store ls|count`: the topics and queues of a store directory, and how many messages they have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import CommandError, CommandFailed
from rocketwire.cli.output import json_line, json_option, number, size, warn
from rocketwire.cli.store.directory import opened, store_directory
from rocketwire.cli.table import TableColumn, print_table
from rocketwire.cli.times import shown
from rocketwire.cli.waiting import waits

if TYPE_CHECKING:
    from rocketwire.store.offline.plan.summary import GroupLag, QueueSummary


_LIST_EPILOG: Final = """\
MIN is the offset of the first message that the log still has, MAX that of the next one, SIZE that of the messages'
records. With --groups: for each group and topic the number of queues with a stored offset, and how many messages of
these are not consumed yet (LAG).

\b
Examples:
  rocketwire store list data
  rocketwire store list data --groups
  rocketwire store list data --all-topics --json
"""


@click.command("list", epilog=_LIST_EPILOG)
@store_directory
@click.option("--all-topics", is_flag=True, help="RocketMQ's own topics too.")
@click.option("--groups", is_flag=True, help="List the consumer groups and their lag instead.")
@json_option
def list_command(directory: str, commitlog: str | None, *, all_topics: bool, groups: bool, as_json: bool) -> int:
    """List the queues of a store, or its consumer groups. RocketMQ's own topics are skipped."""
    from rocketwire.store.offline.plan.summary import group_lags, queue_summaries
    from rocketwire.store.offline.read.directory import StoreState
    from rocketwire.wire.names import is_system_topic_of_any_version

    store = opened(directory, commitlog)
    if store.state in (StoreState.CRASHED, StoreState.UNKNOWN):
        warn(f"{store.root} is {store.state.value}; its queues may lack the newest messages")

    def wanted(topic: str) -> bool:
        return all_topics or not is_system_topic_of_any_version(topic)

    with waits.during(f"reading {store.root}"):
        if groups:
            _print_groups(group_lags(store, wanted), json=as_json)
        else:
            _print_queues(queue_summaries(store, wanted), json=as_json)
    return 0


def _print_queues(queues: Iterable[QueueSummary], *, json: bool) -> None:
    if json:
        for queue in queues:
            json_line(queue)
        return

    columns = (
        TableColumn("TOPIC", least=16),
        TableColumn("QUEUE", right=True),
        TableColumn("MIN", right=True),
        TableColumn("MAX", right=True),
        TableColumn("MESSAGES", right=True),
        TableColumn("SIZE", right=True, spare=2),
        TableColumn("FIRST STORED (UTC)", least=16, time=True, spare=1),
        TableColumn("LAST STORED (UTC)", least=16, time=True, spare=3),
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

    columns = (
        TableColumn("GROUP", least=16),
        TableColumn("TOPIC", least=16),
        TableColumn("QUEUES", right=True),
        TableColumn("LAG", right=True),
    )
    rows = ((group.group, group.topic, number(len(group.queues)), number(group.lag)) for group in groups)
    print_table(columns, rows)


_TIMES: Final = ("minute", "hour", "day")
_COUNT_EPILOG: Final = """\b
Examples:
  rocketwire store columns data --to data-columns
  rocketwire store count data --columns data-columns --by topic,tag,hour
"""


@click.command("count", epilog=_COUNT_EPILOG)
@store_directory
@click.option("--columns", "folder", metavar="CACHE", required=True, help="What `store columns` made of the store.")
@click.option("--by", metavar="NAMES", default="topic", help="Of topic, tag, queue, minute, hour and day, with commas.")
@json_option
def count_command(*, directory: str, commitlog: str | None, folder: str, by: str, as_json: bool) -> int:
    """Count messages, RocketMQ's own topics too, up to where the columns go. Times are those of storing, in UTC."""
    from rocketwire.store.offline.columns.manifest import ColumnsUnusable
    from rocketwire.store.offline.columns.queries import GROUPS, StoreColumns

    names = by.split(",")
    if len(set(names)) < len(names) or not set(names) <= set(GROUPS):
        raise CommandError(f"--by {by}: expected {', '.join(GROUPS)}, each once")
    try:
        counted = StoreColumns(opened(directory, commitlog), Path(folder)).count(names)
    except ColumnsUnusable as error:
        raise CommandFailed(f"{folder}: {error}; make them by rocketwire store columns") from error
    rows = sorted(counted.items(), key=lambda row: [(value is not None, value) for value in row[0]])
    if as_json:
        for values, count in rows:
            json_line({**dict(zip(names, values, strict=True)), "count": count})
        return 0

    columns = (*(TableColumn(name.upper(), least=8) for name in names), TableColumn("COUNT", right=True))

    def text(name: str, value: object) -> str:
        if name in _TIMES and isinstance(value, int):
            return shown(value)[:16]
        return "" if value is None else str(value)

    print_table(columns, ((*map(text, names, values), number(count)) for values, count in rows))
    return 0
