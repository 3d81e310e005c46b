"""A broker's connection to the supervisor that has started it: standard input and output, one message a line."""

from __future__ import annotations

import logging
import os

import trio

from rocketwire.server.members.news import LineReader, news_lines, read_news
from rocketwire.server.members.siblings import Siblings, shared_topics
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.wire.bodies.topic import TopicConfig

log = logging.getLogger(__name__)


class SupervisorLink:
    """Sends the broker's topics to the supervisor, and receives what other brokers have.

    Args:
        output: What is sent.
        input: What is received; its end is the supervisor's.
    """

    def __init__(self, output: trio.abc.SendStream, input: trio.abc.ReceiveStream) -> None:  # noqa: A002 - a stream
        self._output = output
        self._input = input

    @classmethod
    def over_standard_streams(cls) -> SupervisorLink:
        """A link over this process's standard input and output."""
        return cls(trio.lowlevel.FdStream(os.dup(1)), trio.lowlevel.FdStream(os.dup(0)))

    async def run(self, broker: str, address: str, topics: BrokerTopics, siblings: Siblings) -> None:
        """Send and receive until the supervisor ends.

        Args:
            broker: This broker's name.
            address: Its address for clients.
            topics: Its topics.
            siblings: Gets what others have.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._send_topics, broker, address, topics)
            reader = LineReader(self._input)
            while (lines := await reader.receive()) is not None:
                for line in lines:
                    siblings.take(read_news(line))
            nursery.cancel_scope.cancel()
        log.info("stopping: the supervisor has ended")

    async def _send_topics(self, broker: str, address: str, topics: BrokerTopics) -> None:
        """Send all topics, then what changes."""
        changed = trio.Event()

        def on_change(_: object) -> None:
            changed.set()

        topics.changed.subscribe(on_change)
        sent: dict[str, TopicConfig] = {}
        try:
            while True:
                current = shared_topics(topics)
                new = [config for name, config in current.items() if sent.get(name) != config]
                removed = sorted(sent.keys() - current.keys())
                if new or removed:
                    for line in news_lines(broker, address, new, removed):
                        await self._output.send_all(line)
                sent = current
                await changed.wait()
                changed = trio.Event()
        except trio.BrokenResourceError:
            pass  # the supervisor has ended: so does its side of the input
