"""A consumer that is killed: it writes what each message of a topic does to a database, once.

Either a push consumer, which shares the queues with other processes of its group; or a loop that pulls all queues
(`--everything`), so that two processes have each message at the same time. It prints `consuming` when it begins, and
ends when it is killed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from rocketwire.remoting import Begin, Later, PushConsumer
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.once import DeliveredMessage, ExactlyOnce
from rocketwire.remoting.requests import pull_header
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.facts.properties import UNIQ_KEY
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.offset import (
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)
from rocketwire.wire.message import decode_record
from rocketwire.wire.properties import decode_properties

AT_ONCE: Final = 16
_NOTHING: Final = (ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY, ResponseCode.PULL_OFFSET_MOVED)


Handler = Callable[[DeliveredMessage], Later | None]


class Pulled(NamedTuple):
    """A message as it comes."""

    topic: str
    message_id: str
    properties: dict[str, str]


def sell(message: DeliveredMessage, db: Any, style: str) -> None:  # noqa: ANN401 - of each driver
    """Sell one item: nothing of this can be done twice without being seen."""
    cursor = db.cursor()
    cursor.execute("UPDATE stock SET left_over = left_over - 1")
    time.sleep(0.002)  # a kill comes between the two as likely as anywhere else
    cursor.execute(f"INSERT INTO sold VALUES ({style})", (message.message_id,))
    cursor.close()


def pulled(connection: BlockingConnection, topic: str, queue_id: int, offset: int, group: str) -> Iterator[Pulled]:
    """The next messages of a queue."""
    requested = pull_header(topic, queue_id, offset, most=AT_ONCE, group=group)
    answer = connection.ask(RequestCode.PULL_MESSAGE, requested, fine=(ResponseCode.SUCCESS, *_NOTHING))
    body, at = bytes(answer.body), 0
    while answer.code == ResponseCode.SUCCESS and at < len(body):
        record = decode_record(body, at)
        properties = decode_properties(record.properties.decode())
        yield Pulled(record.topic, properties[UNIQ_KEY], properties)
        at += int.from_bytes(body[at : at + 4], "big")


def push(namesrv: str, topic: str, group: str, handle: Handler) -> None:
    """Consume with the library's push consumer until killed."""
    with PushConsumer(group, namesrv, begin=Begin.FIRST, concurrency=4) as consumer:
        consumer.subscribe(topic)
        consumer.start(handle)
        print("consuming", flush=True)
        threading.Event().wait()


def pull(namesrv: str, topic: str, group: str, handle: Handler) -> None:
    """Go round all queues until killed; what the handler raises is delivered again in the next round."""
    with BlockingCluster(namesrv) as cluster:
        brokers = cluster.brokers_of(topic)
        queues = cluster.readable_queues(topic)
        print("consuming", flush=True)
        while True:
            for name, queue_id in queues:
                broker = brokers[name]
                place = QueryConsumerOffsetRequestHeader(consumer_group=group, topic=topic, queue_id=queue_id)
                requested = broker.ask(
                    RequestCode.QUERY_CONSUMER_OFFSET, place, fine=(ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND)
                )
                found = requested.code == ResponseCode.SUCCESS
                offset = decode_ext(QueryConsumerOffsetResponseHeader, requested.ext).offset if found else 0
                count = 0
                for message in pulled(broker, topic, queue_id, offset, group):
                    try:
                        handle(message)
                    except Exception as error:  # noqa: BLE001 - as a push consumer does: the message is redelivered
                        print(f"again: {type(error).__name__}: {error}", flush=True)
                        break
                    count += 1
                commit = UpdateConsumerOffsetRequestHeader(
                    consumer_group=group, topic=topic, queue_id=queue_id, commit_offset=offset + count
                )
                broker.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
                if not count:
                    time.sleep(0.01)


def connect(database: str) -> tuple[Callable[[], Any], str]:
    """How to connect with `sqlite:PATH` or `postgresql:DSN`, and the mark of a parameter there."""
    kind, _, where = database.partition(":")
    if kind == "sqlite":
        return lambda: sqlite3.connect(where, timeout=60), "?"
    import psycopg

    return lambda: psycopg.connect(where), "%s"


def killing(handle: Handler, after: int) -> Handler:
    """A handler that kills this process behind the commit of so many messages, before any is acknowledged."""
    handled = itertools.count(1)

    def handle_and_die(message: DeliveredMessage) -> Later | None:
        later = handle(message)
        if next(handled) == after:
            os.kill(os.getpid(), signal.SIGKILL)
        return later

    return handle_and_die


def main() -> int:
    """Consume until killed."""
    parser = argparse.ArgumentParser()
    for name in ("--namesrv", "--topic", "--group", "--database"):
        parser.add_argument(name, required=True)
    parser.add_argument("--everything", action="store_true", help="pull all queues, though others do so, too")
    parser.add_argument("--die-after", type=int, help="be killed behind the commit of so many messages")
    options = parser.parse_args()
    source, style = connect(options.database)
    once = ExactlyOnce(source, group=options.group)
    handle: Handler = once.handler(lambda message, db: sell(message, db, style))
    if options.die_after is not None:
        handle = killing(handle, options.die_after)
    consume = pull if options.everything else push
    consume(options.namesrv, options.topic, options.group, handle)
    return 0


if __name__ == "__main__":
    sys.exit(main())
