"""`rocketwire message send`: send lines, JSON lines or files to a topic."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError, CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import warn
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.times import parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rocketwire.cli.message.targets import OutgoingMessage
    from rocketwire.remoting.cluster import BlockingCluster

_MOST_IN_A_BATCH: Final = 1024
_STDIN_BATCH: Final = 256
"""Lines of stdin that are there at once are sent together."""
_LINES: Final = "lines"
_JSON: Final = "json"


_EPILOG: Final = """\
\b
Examples:
  rocketwire message send Orders 'first' 'second' --tag paid --key 4711
  tail -f app.log | rocketwire message send Logs --quiet
  rocketwire message send Orders --file order.json --delay 5m
"""


@online_command("send", _EPILOG)
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@click.argument("bodies", metavar="[BODY]...", nargs=-1)
@click.option("--file", "files", metavar="FILE", multiple=True, help="Send this file as one message; repeatable.")
@click.option(
    "--input",
    "form",
    type=click.Choice([_LINES, _JSON]),
    help="What stdin has: a body a line, or objects as of `message export`. [default: json with --json, else lines]",
)
@click.option("--key", "keys", metavar="KEY", multiple=True, help="A key of the messages; repeatable.")
@click.option("--tag", metavar="TAG", help="The messages' tag.")
@click.option("--property", "properties", metavar="NAME=VALUE", multiple=True, help="A property; repeatable.")
@click.option("--delay", metavar="LEVEL|DURATION", help="Deliver later: a delay level such as 3, or such as 90s or 2h.")
@click.option("--at", metavar="TIME", help="Deliver at a time; where brokers have timers (5.x, rocketwire).")
@click.option("--order-key", metavar="KEY", help="All to the queue of this key, in their order.")
@click.option("--queue", metavar="N", type=click.IntRange(min=0), help="All to this queue, in their order.")
@click.option(
    "--batch",
    metavar="N",
    type=click.IntRange(1, _MOST_IN_A_BATCH),
    help=f"Up to N messages in a request, which is faster. [default: {_STDIN_BATCH} for stdin, else 1]",
)
@click.option("--rate", "pace", metavar="N/s", help="No more than N messages a second; also N/m and N/h.")
@click.option(
    "--count", metavar="N", type=click.IntRange(min=1), default=1, help="Send each message N times, as N messages."
)
@click.option("--quiet", is_flag=True, help="Do not print stored messages.")
def command(
    endpoint: ClusterAccess,
    *,
    topic: str,
    bodies: tuple[str, ...],
    files: tuple[str, ...],
    form: str | None,
    keys: tuple[str, ...],
    tag: str | None,
    properties: tuple[str, ...],
    delay: str | None,
    at: str | None,
    order_key: str | None,
    queue: int | None,
    batch: int | None,
    pace: str | None,
    count: int,
    quiet: bool,
    as_json: bool,
) -> int:
    """Send messages to a topic: each BODY, each file, or else each line of stdin.

    Prints of each its id, broker, queue and offset once it is stored, `delayed` instead of a place if it is delivered
    later. Many requests are in flight at once; so messages keep their order only with --queue or --order-key. Lines of
    stdin that are there at once go into one request. What a broker throttles is sent again, more slowly, for a minute.
    With --json, stdin has objects as `message export` writes them, whose tags, keys, properties and ids are kept, and
    the output has one object a message.
    """
    if delay is not None and at is not None:
        raise CommandError("--delay and --at: only one of them")
    if order_key is not None and queue is not None:
        raise CommandError("--order-key and --queue: only one of them")
    if (bodies or files) and form is not None:
        raise CommandError("--input: only for stdin")
    own = _properties(keys, tag, properties)
    from rocketwire.cli.message.incoming import paced, rate
    from rocketwire.cli.message.results import SendResultPrinter
    from rocketwire.cli.message.sending import MessageSender

    per_second = None if pace is None else rate("--rate", pace)
    messages: Iterable[OutgoingMessage | None]
    if bodies or files:
        messages = _given(topic, bodies, files)
    elif (form or (_JSON if as_json else _LINES)) == _JSON:
        messages = _objects(topic)
    else:
        messages = _lines(topic)
    results = SendResultPrinter(as_json=as_json, quiet=quiet)
    with endpoint.connected() as cluster:
        _check_queue(cluster, topic, queue)
        own |= _delay(cluster, topic, delay, at)
        messages = _finished(messages, own, queue, order_key, count)
        if per_second is not None:
            messages = paced(messages, per_second)
        ordered = queue is not None or order_key is not None

        def report_new_topic(topic: str) -> None:
            results.warn(f"topic {topic} does not exist: the first message creates it")

        size = batch or (1 if bodies or files or per_second is not None else _STDIN_BATCH)
        sender = MessageSender(cluster, batch=size, ordered=ordered, say=results.warn, on_new_topic=report_new_topic)
        code = results.run(sender, messages)
    if not (bodies or files or results.stored or results.failed):
        warn("stdin has no messages: nothing is sent")
        return INCOMPLETE
    return code


def _properties(keys: tuple[str, ...], tag: str | None, properties: tuple[str, ...]) -> dict[str, str]:
    """Those of the options.

    Raises:
        Mistake: one is wrong.
    """
    from rocketwire.wire.facts import properties as names

    found: dict[str, str] = {}
    for text in properties:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise CommandError(f"--property {text}: expected NAME=VALUE")
        found[name] = value
    for key in keys:
        if not key or any(character.isspace() for character in key):
            raise CommandError(f"--key {key!r}: a key has no blanks; repeat --key for several keys")
    if keys:
        found[names.KEYS] = names.KEY_SEP.join(keys)
    if tag:
        found[names.TAGS] = tag
    return found


def _check_queue(cluster: BlockingCluster, topic: str, queue: int | None) -> None:
    """Raise Unsuccessful if no broker has the queue of `--queue`."""
    if queue is None:
        return
    from rocketwire.cli.message.targets import SendTargets

    most = max(target.queue_id for target in SendTargets(cluster, on_new_topic=lambda _: None).queues(topic))
    if queue > most:
        raise CommandFailed(f"--queue {queue}: topic {topic} has the queues 0 to {most}")


def _delay(cluster: BlockingCluster, topic: str, delay: str | None, at: str | None) -> dict[str, str]:
    if delay is not None:
        from rocketwire.cli.message.delays import delay_properties
        from rocketwire.remoting.clock import system_clock

        return delay_properties(cluster, topic, delay, system_clock())
    if at is not None:
        from rocketwire.cli.message.delays import time_properties

        return time_properties(cluster, topic, parsed("--at", at))
    return {}


def _given(topic: str, bodies: tuple[str, ...], files: tuple[str, ...]) -> Iterator[OutgoingMessage]:
    from rocketwire.cli.message.targets import OutgoingMessage

    for body in bodies:
        yield OutgoingMessage(topic=topic, body=body.encode("utf-8", "surrogateescape"))
    for name in files:
        try:
            content = Path(name).read_bytes()
        except OSError as error:
            raise CommandError(f"--file {name}: it cannot be read: {error.strerror}") from error
        yield OutgoingMessage(topic=topic, body=content)


def _lines(topic: str) -> Iterator[OutgoingMessage | None]:
    """The lines of stdin that are not empty: brokers refuse messages without a body."""
    from rocketwire.cli.message.incoming import lines
    from rocketwire.cli.message.targets import OutgoingMessage

    made = partial(OutgoingMessage, topic=topic)
    if sys.stdin.isatty():
        sys.stderr.write("rocketwire: reading messages from the terminal, one a line; Ctrl-D ends\n")
    for line in lines():
        if line is None:
            yield None
        elif line:
            yield made(body=line)


def _objects(topic: str) -> Iterator[OutgoingMessage | None]:
    from rocketwire.cli.message.incoming import from_json, lines

    number = 0
    for line in lines():
        number += line is not None
        if line is None:
            yield None
        elif line.strip():
            yield from_json(line, topic, f"line {number}")


def _finished(
    messages: Iterable[OutgoingMessage | None],
    own: dict[str, str],
    queue: int | None,
    order_key: str | None,
    count: int,
) -> Iterator[OutgoingMessage | None]:
    """The messages with the values of the options, which override those of JSON objects."""
    from dataclasses import replace

    from rocketwire.wire.facts import properties as names

    if order_key is not None:
        own = {**own, names.SHARDING_KEY: order_key}
    if not own and queue is None and count == 1:
        yield from messages
        return
    for each in messages:
        if each is None:
            yield None
            continue
        properties = {**each.properties, **own}
        made = replace(each, properties=properties, queue_id=queue, order_key=order_key)
        yield made
        if count > 1:
            properties.pop(names.UNIQ_KEY, None)
            for _ in range(count - 1):
                yield made
