"""`rocketwire timer cancel`: cancel a waiting timer message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError, CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import json_line, warn
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.table import clean
from rocketwire.cli.times import shown

if TYPE_CHECKING:
    from rocketwire.remoting.cluster import BlockingCluster
    from rocketwire.remoting.connection import BlockingConnection
    from rocketwire.wire.recall_handle import RecallHandle

_EPILOG: Final = """\
HANDLE is the recallHandle that the send was answered with. Without it, a message is found by its topic and id among
those that wait. Exit code: 0 when it is cancelled; 1 when the broker has noted the wish, but no such message is found
among those that wait, or it could not be looked for, or when the broker refuses, or has no message of that topic and
id. Apache's broker accepts it only with recallMessageEnable=true.

\b
Examples:
  rocketwire timer cancel djEgT3JkZXJzIGJyb2tlci1hIDE3OTUyNTU1NTYwMDAgQzAw
  rocketwire timer cancel --topic Orders --id C000020201C14E0E2F2A68F2FE7800DC
"""


@online_command("cancel", _EPILOG)
@click.argument("handle", metavar="[HANDLE]", required=False)
@click.option("--topic", metavar="TOPIC", type=TOPIC, help="Instead of HANDLE: the topic that the message is for.")
@click.option("--id", "message_id", metavar="MSGID", help="And the id that its send returned (the unique key).")
def command(
    endpoint: ClusterAccess, handle: str | None, *, topic: str | None, message_id: str | None, as_json: bool
) -> int:
    """Cancel a message that waits for its time, on this or Apache's broker."""
    wanted = _named(handle, topic, message_id)
    with endpoint.connected() as cluster:
        if isinstance(wanted, _Id):
            found = _handle_of(cluster, wanted.topic, wanted.message_id)
            _recall(cluster, found)
            doubt = None
        else:
            # Searched only afterwards: a message that still waits then will not be delivered.
            found = wanted
            doubt = _doubt(_recall(cluster, found), found)
    _print_result(found, doubt, json=as_json)
    return 0 if doubt is None else INCOMPLETE


class _Id(NamedTuple):
    """A message by its topic and id."""

    topic: str
    message_id: str


def _named(handle: str | None, topic: str | None, message_id: str | None) -> RecallHandle | _Id:
    """The message that the options name.

    Raises:
        Mistake: they name none, or two, or the handle is none.
    """
    from rocketwire.wire.errors import WireError
    from rocketwire.wire.recall_handle import decode_recall_handle

    if handle is None and topic is not None and message_id is not None:
        return _Id(topic, message_id)
    if handle is None or topic is not None or message_id is not None:
        raise CommandError("cancel: name a message by HANDLE, or by --topic and --id")
    try:
        return decode_recall_handle(handle)
    except WireError as error:
        raise CommandError(str(error)) from error


class _Doubt(NamedTuple):
    """Why it is not certain that a message is cancelled; `found` is None when it could not be looked for."""

    found: bool | None
    text: str


def _doubt(broker: BlockingConnection, handle: RecallHandle) -> _Doubt | None:
    from rocketwire.cli.timer.lookup import waits_on_broker
    from rocketwire.remoting.errors import RemotingError
    from rocketwire.wire.errors import WireError

    try:
        if waits_on_broker(broker, handle):
            return None
    except (CommandError, RemotingError, WireError) as error:
        return _Doubt(None, f"it could not be looked up ({error})")
    return _Doubt(found=False, text="no such message is found among those that wait")


def _handle_of(cluster: BlockingCluster, topic: str, message_id: str) -> RecallHandle:
    """The recall handle of a waiting message.

    Raises:
        Mistake: several waiting messages have the id.
        Unsuccessful: there is no such message, or it no longer waits.
    """
    from rocketwire.cli.timer.lookup import on_brokers
    from rocketwire.wire.recall_handle import RecallHandle

    found = [
        each
        for each in on_brokers(cluster, message_id)
        if each.message.topic == topic and each.message.message_id == message_id and each.message.cancels is None
    ]
    if not found:
        raise CommandFailed(f"{message_id}: no such message of topic {topic} has waited")
    waiting = [each for each in found if each.waits]
    if not waiting:
        raise CommandFailed(f"{message_id}: waits no more, it was due {shown(found[0].due)} UTC")
    if len({(each.broker, each.due) for each in waiting}) > 1:
        raise CommandError(
            f"{message_id}: {len(waiting)} messages of topic {topic} with this id wait; use their handles"
        )
    one = waiting[0]
    return RecallHandle(topic, one.broker or "", one.due, message_id)


def _recall(cluster: BlockingCluster, handle: RecallHandle) -> BlockingConnection:
    """Send the cancellation to the broker; return the connection to it.

    Raises:
        Unsuccessful: the broker is not there.
        NotReached, Refused: it does not answer, or refuses.
    """
    from rocketwire.wire.facts.codes import RequestCode
    from rocketwire.wire.headers.send import RecallMessageRequestHeader
    from rocketwire.wire.recall_handle import encode_recall_handle

    brokers = cluster.brokers_of(handle.topic)
    if handle.broker not in brokers:
        raise CommandFailed(f"topic {handle.topic}: no broker {handle.broker} has it, where the message waits")
    fields = RecallMessageRequestHeader(
        topic=handle.topic, recall_handle=encode_recall_handle(*handle).decode(), bname=handle.broker
    )
    broker = brokers[handle.broker]
    broker.ask(RequestCode.RECALL_MESSAGE, fields)
    return broker


def _print_result(handle: RecallHandle, doubt: _Doubt | None, *, json: bool) -> None:
    if json:
        json_line(
            {
                "topic": handle.topic,
                "broker": handle.broker,
                "message_id": handle.unique_key,
                "due_time": handle.time,
                "found": True if doubt is None else doubt.found,
            }
        )
    message = f"message {clean(handle.unique_key)} of topic {clean(handle.topic)}"
    message += f", due {shown(handle.time)} UTC, broker {clean(handle.broker)}"
    if doubt is not None:
        warn(f"noted by the broker, but {doubt.text}: {message}")
    elif not json:
        print(f"cancelled: {message}")
