"""All brokers of a server: starts them, and passes on to each what the others report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import trio

from rocketwire.server.members.news import MemberNews, news_lines
from rocketwire.server.supervisor.broker_process import BrokerCommand, BrokerProcess
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies.topic import TopicConfig


class Supervisor:
    """The brokers.

    Args:
        commands: How each is started.
        name_server: Where they register.
        environment: The variables of their processes.

    Attributes:
        brokers: Their processes.
    """

    def __init__(self, commands: Iterable[BrokerCommand], name_server: Address, environment: Mapping[str, str]) -> None:
        self.brokers: Sequence[BrokerProcess] = [
            BrokerProcess(
                command,
                name_server,
                environment,
                on_start=self._on_start,
                on_end=self._on_end,
                on_news=self._on_news,
            )
            for command in commands
        ]
        self._topics: dict[str, dict[str, TopicConfig]] = {}

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Keep all running; started once all are ready for the first time.

        Raises:
            BrokerNotStarted: one was not.
        """
        async with trio.open_nursery() as nursery:
            async with trio.open_nursery() as starting:
                for broker in self.brokers:
                    starting.start_soon(partial(nursery.start, broker.run))
            task_status.started()

    def _on_start(self, started: BrokerProcess) -> None:
        self._topics[started.name] = {}
        for other in self._others(started):
            if other.running is not None:
                topics = list(self._topics[other.name].values())
                started.send(news_lines(other.name, str(other.running.address), topics))
        self._report(started)

    def _on_end(self, ended: BrokerProcess) -> None:
        self._topics.pop(ended.name, None)
        self._report(ended)

    def _report(self, broker: BrokerProcess) -> None:
        """Report to the others that a broker runs, or does not."""
        address = None if broker.running is None else str(broker.running.address)
        for other in self._others(broker):
            other.send(news_lines(broker.name, address))

    def _on_news(self, broker: BrokerProcess, news: MemberNews) -> None:
        topics = self._topics[broker.name]
        topics |= {config.topic_name: config for config in news.topics}
        for name in news.removed:
            topics.pop(name, None)
        for other in self._others(broker):
            other.send(news_lines(broker.name, news.address, news.topics, news.removed))

    def _others(self, broker: BrokerProcess) -> Iterable[BrokerProcess]:
        return (other for other in self.brokers if other is not broker)
