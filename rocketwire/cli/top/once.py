"""The traffic as tables or as one JSON object, once."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rocketwire.cli.output import json_line, number, warn
from rocketwire.cli.table import Column, print_table
from rocketwire.cli.top.sample import Sampler
from rocketwire.cli.top.traffic import Traffic

if TYPE_CHECKING:
    from rocketwire.cli.online import Endpoint


def run(endpoint: Endpoint, interval: float, *, everything: bool, as_json: bool) -> None:
    """Take two samples, an interval apart, and print what they say.

    Raises:
        RemotingError: the endpoint does not answer.
    """
    traffic = Traffic(everything=everything)
    with endpoint.connected() as cluster:
        sampler = Sampler(cluster, in_turn=False)
        traffic.add(sampler.take())
        time.sleep(interval)
        traffic.add(sampler.take())
    if as_json:
        json_line(_object(traffic))
    else:
        _print(traffic)


def _object(traffic: Traffic) -> dict[str, Any]:
    return {
        "brokers": [asdict(row) for row in traffic.brokers],
        "topics": [asdict(row) for row in traffic.topics],
        "groups": [
            {
                **asdict(row),
                "queues": [
                    {**each.place._asdict(), "offset": each.consumed, "end": each.end, "lag": each.lag}
                    for each in traffic.queues_of_group(row.group)
                ],
            }
            for row in traffic.groups
        ],
    }


def _print(traffic: Traffic) -> None:
    from rocketwire.cli.top.screen import count, rate

    for broker in traffic.brokers:
        if broker.problem is not None:
            warn(f"{broker.broker}: {broker.problem}")
    numbers = (Column("IN/s", right=True), Column("OUT/s", right=True))
    print_table(
        (Column("BROKER"), Column("VERSION", spare=1), *numbers, Column("IN TODAY", right=True)),
        ((r.broker, r.version or "-", rate(r.put_tps), rate(r.get_tps), count(r.put_today)) for r in traffic.brokers),
    )
    print()
    print_table(
        (
            Column("TOPIC", least=12),
            *numbers,
            Column("MESSAGES", right=True),
            Column("QUEUES", right=True, spare=1),
            Column("GROUPS", right=True, spare=2),
        ),
        (
            (r.topic, rate(r.rate_in), rate(r.rate_out), count(r.messages), number(r.queues), number(r.groups))
            for r in traffic.topics
        ),
    )
    print()
    print_table(
        (
            Column("GROUP", least=12),
            Column("OUT/s", right=True),
            Column("LAG", right=True),
            Column("MEMBERS", right=True),
            Column("TOPICS", least=12),
        ),
        ((r.group, rate(r.rate), count(r.lag), count(r.members), ", ".join(r.topics)) for r in traffic.groups),
    )
