"""`rocketwire dlq list`: the groups with dead letters, and how many there are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

import click

from rocketwire.cli.errors import INCOMPLETE
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.output import json_line, number, warn_empty

_EPILOG: Final = """\
\b
Examples:
  rocketwire dlq list
  rocketwire dlq list --all --json
"""


@click.command("list", cls=OnlineCommand, epilog=_EPILOG)
@click.option("--all", "empty_too", is_flag=True, help="Groups without dead letters too, if they have the topic.")
@json_option
@online
def command(endpoint: ClusterAccess, *, empty_too: bool, as_json: bool) -> int:
    """List the groups that have dead letters.

    MESSAGES are in the topic, as long as the broker keeps them. NOT RESENT are those behind what `dlq resend --all`
    has sent again. OLDEST and NEWEST are the times when they became dead letters.
    """
    from rocketwire.wire.names import DEAD_LETTER_PREFIX

    with endpoint.connected() as cluster:
        topics = [topic for topic in cluster.topics() if topic.startswith(DEAD_LETTER_PREFIX)]
        found = [_dead_letters(endpoint, topic) for topic in topics]
    found = [each for each in found if each.messages or empty_too]
    if as_json:
        for each in found:
            json_line(asdict(each))
    elif found:
        _print(found)
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
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.message.reading import TopicReader
    from rocketwire.cli.output import warn
    from rocketwire.remoting.errors import NoSuchTopic
    from rocketwire.wire.names import DEAD_LETTER_PREFIX

    messages = not_resent = 0
    times: list[int] = []
    with TopicReader(endpoint, topic, warn) as reader:
        try:
            queues = reader.queues()
        except (NoSuchTopic, CommandFailed) as error:
            # It is gone meanwhile, or nobody may read it.
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


def _print(found: list[DeadLetters]) -> None:
    from rocketwire.cli.table import TableColumn, print_table
    from rocketwire.cli.times import shown

    columns = (
        TableColumn("GROUP", least=12),
        TableColumn("MESSAGES", right=True),
        TableColumn("NOT RESENT", right=True, spare=1),
        TableColumn("OLDEST (UTC)", time=True, least=16),
        TableColumn("NEWEST (UTC)", time=True, least=16),
    )
    rows = (
        (each.group, number(each.messages), number(each.not_resent), shown(each.oldest), shown(each.newest))
        for each in found
    )
    print_table(columns, rows)
