"""`rocketwire message resend`: send a stored message again, to a topic or to one consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError, CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import json_line, warn
from rocketwire.cli.parameter_types import GROUP, TOPIC
from rocketwire.cli.shown_message import body_of

if TYPE_CHECKING:
    from rocketwire.cli.message.reading import BrokerMessage
    from rocketwire.remoting.cluster import BlockingCluster


_EPILOG: Final = """\
\b
Examples:
  rocketwire message resend 7F00000100002A9F0000000000000000 --to-topic Copy
  rocketwire message resend 7F00000100002A9F0000000000000000 --to-group orders
"""


@online_command("resend", _EPILOG)
@click.argument("message_id", metavar="ID")
@click.option("--topic", metavar="T", type=TOPIC, help="The message's topic; needed if the id is a unique key.")
@click.option("--to-topic", metavar="T", type=TOPIC, help="Send a copy to this topic.")
@click.option("--to-group", metavar="GROUP", type=GROUP, help="Have a consumer of this group process the message now.")
@click.option("--client", metavar="ID", help="With --to-group: this client. [default: the first that is on line]")
def command(
    endpoint: ClusterAccess,
    *,
    message_id: str,
    topic: str | None,
    to_topic: str | None,
    to_group: str | None,
    client: str | None,
    as_json: bool,
) -> int:
    """Send a stored message again.

    --to-topic sends a copy with the same body, tag, keys, properties and unique key, as `mqadmin queryMsgById -s true`
    does: all groups of the topic get it. --to-group has one connected consumer, through the broker, process the message
    at once, as `mqadmin queryMsgById -g -d` does: nothing is stored, no offset moves, and the consumer's
    result is printed. The exit code is 0 if the copy is stored, or the consumer has succeeded.
    """
    if (to_topic is None) == (to_group is None):
        raise CommandError("one of --to-topic and --to-group is needed")
    if client is not None and to_group is None:
        raise CommandError("--client: only with --to-group")
    from rocketwire.cli.message.show import found_by_id

    with endpoint.connected() as cluster:
        found = found_by_id(cluster, message_id, topic)
        if to_topic is not None:
            return _copy(cluster, found, to_topic, as_json=as_json)
        return _consume(cluster, found, to_group or "", client, as_json=as_json)


def _copy(cluster: BlockingCluster, found: BrokerMessage, topic: str, *, as_json: bool) -> int:
    from rocketwire.cli.message.incoming import copied_properties
    from rocketwire.cli.message.results import SendResultPrinter
    from rocketwire.cli.message.sending import MessageSender
    from rocketwire.cli.message.targets import OutgoingMessage

    body = body_of(found.one, lambda what: warn(str(what)))
    if body is None:
        return INCOMPLETE
    copy = OutgoingMessage(
        topic=topic, body=body, properties=copied_properties(found.one.properties), flag=found.one.message.flag
    )
    results = SendResultPrinter(as_json=as_json, quiet=False)
    return results.run(MessageSender(cluster, say=results.warn), [copy])


def _consume(cluster: BlockingCluster, found: BrokerMessage, group: str, client: str | None, *, as_json: bool) -> int:
    from rocketwire.wire.bodies import decode_body
    from rocketwire.wire.bodies.online import ConsumeMessageDirectlyResult, ConsumeResult
    from rocketwire.wire.facts.codes import RequestCode
    from rocketwire.wire.headers.online import ConsumeMessageDirectlyResultRequestHeader

    broker = cluster.broker(found.broker)
    client = client or _first_client(cluster, found, group)
    fields = ConsumeMessageDirectlyResultRequestHeader(
        consumer_group=group,
        client_id=client,
        msg_id=found.one.offset_message_id,
        broker_name=found.broker,
        topic=found.one.message.topic,
    )
    result = decode_body(ConsumeMessageDirectlyResult, broker.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields).body)
    name = None if result.consume_result is None else result.consume_result.value
    if as_json:
        json_line(
            {
                "message_id": found.one.message_id,
                "group": group,
                "client_id": client,
                "result": name,
                "remark": result.remark,
                "spent_ms": result.spent_time_mills,
            }
        )
    else:
        remark = f": {result.remark.strip().splitlines()[0]}" if result.remark and result.remark.strip() else ""
        print(f"{found.one.message_id}  {client}  {name or 'no result'}  {result.spent_time_mills} ms{remark}")
    return 0 if result.consume_result in (ConsumeResult.CR_SUCCESS, ConsumeResult.CR_COMMIT) else INCOMPLETE


def _first_client(cluster: BlockingCluster, found: BrokerMessage, group: str) -> str:
    """The client id of a member of a group.

    Raises:
        Unsuccessful: none is connected to the message's broker.
    """
    from rocketwire.remoting.admin.groups import consumer_connections

    connected = consumer_connections(cluster.broker(found.broker), group)
    if connected is None:
        raise CommandFailed(f"group {group}: no consumer is on line at broker {found.broker}")
    return min(member.client_id for member in connected.connection_set)
