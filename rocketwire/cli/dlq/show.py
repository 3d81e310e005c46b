"""`rocketwire dlq list|show`: the groups with dead letters, and the newest dead letters of a group."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import CountedWarnings, json_line, number, warn, warn_empty
from rocketwire.cli.parameter_types import GROUP
from rocketwire.cli.shown_message import body_of, json_object
from rocketwire.cli.table import TableColumn, print_rows, print_table
from rocketwire.cli.times import shown

if TYPE_CHECKING:
    from rocketwire.cli.message.reading import BrokerMessage


_LIST_EPILOG: Final = """\
\b
Examples:
  rocketwire dlq list
  rocketwire dlq list --all --json
"""


@online_command("list", _LIST_EPILOG)
@click.option("--all", "empty_too", is_flag=True, help="Groups without dead letters too, if they have the topic.")
def list_command(endpoint: ClusterAccess, *, empty_too: bool, as_json: bool) -> int:
    """List the groups that have dead letters.

    MESSAGES are in the topic, as long as the broker keeps them. NOT RESENT are those behind what `dlq resend --all`
    has sent again. OLDEST and NEWEST are the times when they became dead letters.
    """
    from rocketwire.wire.names import DEAD_LETTER_PREFIX

    with endpoint.connected() as cluster:
        topics = [topic for topic in cluster.topics() if topic.startswith(DEAD_LETTER_PREFIX)]
        found = [_dead_letters(endpoint, topic) for topic in topics]
    found = [each for each in found if each.messages or empty_too]
    columns = (
        TableColumn("GROUP", of="group", least=12),
        TableColumn("MESSAGES", of=lambda row: number(row["messages"]), right=True),
        TableColumn("NOT RESENT", of=lambda row: number(row["not_resent"]), right=True, spare=1),
        TableColumn("OLDEST (UTC)", of=lambda row: shown(row["oldest"]), time=True, least=16),
        TableColumn("NEWEST (UTC)", of=lambda row: shown(row["newest"]), time=True, least=16),
    )
    print_rows([asdict(each) for each in found], columns, as_json=as_json)
    if not found:
        warn_empty("dead letters")
    return 0 if found else INCOMPLETE


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The dead letters of a group; times are in ms since 1970, None if there are none."""

    group: str
    topic: str
    messages: int
    not_resent: int
    oldest: int | None
    newest: int | None


def _dead_letters(endpoint: ClusterAccess, topic: str) -> DeadLetters:
    from rocketwire.cli.message.reading import TopicReader
    from rocketwire.remoting.errors import NoSuchTopic
    from rocketwire.wire.names import DEAD_LETTER_PREFIX

    messages = not_resent = 0
    times: list[int] = []
    with TopicReader(endpoint, topic, warn) as reader:
        try:
            queues = reader.queues()
        except (NoSuchTopic, CommandFailed) as error:
            # It was removed meanwhile, or may not be read.
            warn(str(error))
            queues = []
        for queue in queues:
            offsets = reader.offsets(queue)
            messages += len(offsets)
            if offsets:
                done = reader.committed(queue)
                not_resent += len(offsets) if done is None else len(range(max(done, offsets.start), offsets.stop))
                for place in {offsets.start, offsets.stop - 1}:
                    found = reader.message(queue, place)
                    if found is not None:
                        times.append(found.message.store_timestamp)
    group = topic.removeprefix(DEAD_LETTER_PREFIX)
    return DeadLetters(group, topic, messages, not_resent, min(times, default=None), max(times, default=None))


_LAST: Final = 10
_BODY_SHOWN: Final = 200


_SHOW_EPILOG: Final = """\
\b
Examples:
  rocketwire dlq show orders -n 3
"""


@online_command("show", _SHOW_EPILOG)
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option(
    "-n", "--last", metavar="N", type=click.IntRange(min=1), default=_LAST, show_default=True, help="The last N."
)
def show_command(endpoint: ClusterAccess, *, group: str, last: int, as_json: bool) -> int:
    """Show the newest dead letters of a group: when they became some, their topic, id, tag, keys and body.

    `message show ID --topic %DLQ%GROUP` shows all of one.
    """
    from rocketwire.cli.dlq.letters import origin_topic, topic_of
    from rocketwire.cli.message.reading import TopicReader

    report = CountedWarnings()
    with TopicReader(endpoint, topic_of(group), report) as reader:
        found = reader.read_last({queue: reader.offsets(queue) for queue in reader.queues()}, last)
    if as_json:
        for each in found:
            shown = json_object(each.one, report, broker=each.broker)
            json_line({**shown, "origin_topic": origin_topic(each.one)})
    elif found:
        _print_show(found)
    return 0 if found and not report.count else INCOMPLETE


def _print_show(found: list[BrokerMessage]) -> None:
    from rocketwire.cli.dlq.letters import origin_topic

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
