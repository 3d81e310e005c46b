"""`rocketwire dlq resend`: send dead letters of a group again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, Self

import click

from rocketwire.cli.deletion import confirm, yes_option
from rocketwire.cli.errors import INCOMPLETE, CommandError, CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import count_of, warn
from rocketwire.cli.parameter_types import GROUP
from rocketwire.cli.shown_message import body_of
from rocketwire.wire.names import retry_topic

if TYPE_CHECKING:
    from rocketwire.cli.message.reading import BrokerMessage
    from rocketwire.cli.message.results import SendResultPrinter
    from rocketwire.cli.message.targets import OutgoingMessage
    from rocketwire.remoting.cluster import BlockingCluster

_AT_ONCE: Final = 256
"""So many are sent and answered before the progress is committed."""


_EPILOG: Final = """\
\b
Examples:
  rocketwire dlq resend orders --all
  rocketwire dlq resend orders --all --to retry --limit 100 --yes
"""


@online_command("resend", _EPILOG)
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option("--id", "ids", metavar="ID", multiple=True, help="The dead letter with this id; repeatable.")
@click.option("--all", "everything", is_flag=True, help="All that were not sent again before.")
@click.option("--again", is_flag=True, help="With --all: those that were sent again before, too.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="With --all: the next N only.")
@click.option(
    "--to",
    "target",
    type=click.Choice(["origin", "retry"]),
    default="origin",
    show_default=True,
    help="To the topic that each was first sent to, or to the group's retry topic, which no other group reads.",
)
@yes_option
def command(
    endpoint: ClusterAccess,
    *,
    group: str,
    ids: tuple[str, ...],
    everything: bool,
    again: bool,
    limit: int | None,
    target: str,
    yes: bool,
    as_json: bool,
) -> int:
    """Send dead letters of a group again, the oldest first.

    Sent is a copy with the same body, flag, tag, keys, unique key and properties of the application, and
    ORIGIN_MESSAGE_ID, the offset message id of the original. Its tries begin again. It goes to the topic that the
    original was first sent to (its property RETRY_TOPIC), whose groups all get it; or, with --to retry, to
    %RETRY%GROUP, which the group alone reads. The dead letter itself stays until the broker removes it.

    Each is sent at least once: after each 256 that are stored, the broker gets the progress as the offset of the group
    TOOLS_CONSUMER in %DLQ%GROUP. So --all continues where the last one ended or was stopped, but sends up to 256 a
    second time if it was killed. --id neither reads nor moves that offset.
    """
    if bool(ids) == everything:
        raise CommandError("one of --id and --all is needed")
    if (again or limit is not None) and not everything:
        raise CommandError("--again and --limit: only with --all")
    from rocketwire.cli.message.results import SendResultPrinter

    results = SendResultPrinter(as_json=as_json, quiet=False)
    to_retry = target == "retry"
    with (
        endpoint.connected() as cluster,
        DeadLetterResend(endpoint, cluster, group, results, to_retry=to_retry) as resend,
    ):
        letters = resend.named(ids) if ids else resend.remaining(again=again, limit=limit)
        if not letters.count:
            raise CommandFailed(f"group {group}: there is no dead letter to send")
        where = retry_topic(group) if to_retry else "the topics they were first sent to"
        question = f"Send {count_of(letters.count, 'dead letter')} of group {group} to {where}?"
        confirm(question, yes=yes, refusal="nothing is sent")
        return resend.run(letters)


@dataclass
class DeadLetterSelection:
    """Dead letters to send; `tracked` if the progress is committed."""

    count: int
    found: Iterator[BrokerMessage] = field(repr=False)
    tracked: bool


class DeadLetterResend:
    """Sends dead letters of one group."""

    def __init__(
        self,
        endpoint: ClusterAccess,
        cluster: BlockingCluster,
        group: str,
        results: SendResultPrinter,
        *,
        to_retry: bool,
    ) -> None:
        from rocketwire.cli.dlq.letters import topic_of
        from rocketwire.cli.message.reading import TopicReader

        self._cluster = cluster
        self._group = group
        self._topic = topic_of(group)
        self._reader = TopicReader(endpoint, self._topic, self._complain)
        self._results = results
        self._to_retry = to_retry
        self._complaints = 0

    def __enter__(self) -> Self:
        """Close the reader's connections at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._reader.__exit__()

    def named(self, ids: tuple[str, ...]) -> DeadLetterSelection:
        """The dead letters with these ids.

        Raises:
            Unsuccessful: there is none with one of them.
        """
        from rocketwire.cli.message.show import found_by_id

        found = [found_by_id(self._cluster, each, self._topic) for each in ids]
        for each, one in zip(ids, found, strict=True):
            if one.one.message.topic != self._topic:
                raise CommandFailed(f"{each}: it is a message of {one.one.message.topic}, no dead letter of this group")
        return DeadLetterSelection(len(found), iter(found), tracked=False)

    def remaining(self, *, again: bool, limit: int | None) -> DeadLetterSelection:
        """Those behind the committed progress, or all with `copy_for_resend`; queue by queue, up to `limit`."""
        places = {}
        for queue in self._reader.queues():
            offsets = self._reader.offsets(queue)
            done = None if again else self._reader.committed(queue)
            places[queue] = range(max(offsets.start, done or 0), offsets.stop)
        count = sum(map(len, places.values()))
        found = islice(self._reader.read_all(places), limit)
        return DeadLetterSelection(count if limit is None else min(count, limit), found, tracked=True)

    def run(self, letters: DeadLetterSelection) -> int:
        """Send them; the exit code.

        Raises:
            NotReached, Refused, NoSuchTopic: the rest cannot be sent.
        """
        from rocketwire.cli.message.sending import MessageSender

        code = self._results.run(MessageSender(self._cluster, say=self._results.warn), self._messages(letters))
        return INCOMPLETE if self._complaints else code

    def _messages(self, letters: DeadLetterSelection) -> Iterator[OutgoingMessage | None]:
        """The messages to send; after each part a pause, behind which all before it are stored or refused."""
        from rocketwire.cli.message.selection import CommitProgress

        progress = CommitProgress(self._reader)
        while part := list(islice(letters.found, _AT_ONCE)):
            yield from (message for each in part if (message := self._again(each)) is not None)
            yield None
            if self._results.failed:
                # The progress stays before what is not stored; the next run begins there.
                return
            if letters.tracked:
                for each in part:
                    progress.reached(each.queue, each.one.message.queue_offset + 1)
                progress.commit()

    def _again(self, letter: BrokerMessage) -> OutgoingMessage | None:
        """The message to send; None, and a complaint, if the letter cannot be read."""
        from rocketwire.cli.dlq.letters import copy_for_resend, origin_topic

        body, origin = body_of(letter.one, self._complain), origin_topic(letter.one)
        if origin is None:
            self._complain(f"{letter.one.message_id}: it does not name the topic that it was first sent to")
        if body is None or origin is None:
            return None
        return copy_for_resend(letter.one, body, group=self._group, origin=origin, to_retry=self._to_retry)

    def _complain(self, what: object) -> None:
        self._complaints += 1
        warn(str(what))
