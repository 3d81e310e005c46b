"""The traffic as tables or as one JSON object, once."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rocketwire.cli.output import json_line, number, warn
from rocketwire.cli.table import TableColumn, print_table
from rocketwire.cli.top.sample import Sampler
from rocketwire.cli.top.traffic import ClusterTraffic

if TYPE_CHECKING:
    from rocketwire.cli.online import ClusterAccess


def run(endpoint: ClusterAccess, interval: float, *, everything: bool, as_json: bool) -> None:
    """Take two samples, an interval apart, and print the result.

    Raises:
        RemotingError: the endpoint does not answer.
    """
    traffic = ClusterTraffic(everything=everything)
    with endpoint.connected() as cluster:
        sampler = Sampler(cluster, in_parts=False)
        traffic.add(sampler.take())
        time.sleep(interval)
        traffic.add(sampler.take())
    if as_json:
        json_line(_object(traffic))
    else:
        _print(traffic)


def _object(traffic: ClusterTraffic) -> dict[str, Any]:
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


def _print(traffic: ClusterTraffic) -> None:
    from rocketwire.cli.top.screen import count, rate

    for broker in traffic.brokers:
        if broker.problem is not None:
            warn(f"{broker.broker}: {broker.problem}")
    numbers = (TableColumn("IN/s", right=True), TableColumn("OUT/s", right=True))
    print_table(
        (TableColumn("BROKER"), TableColumn("VERSION", spare=1), *numbers, TableColumn("IN TODAY", right=True)),
        ((r.broker, r.version or "-", rate(r.put_tps), rate(r.get_tps), count(r.put_today)) for r in traffic.brokers),
    )
    print()
    print_table(
        (
            TableColumn("TOPIC", least=12),
            *numbers,
            TableColumn("MESSAGES", right=True),
            TableColumn("QUEUES", right=True, spare=1),
            TableColumn("GROUPS", right=True, spare=2),
        ),
        (
            (r.topic, rate(r.rate_in), rate(r.rate_out), count(r.messages), number(r.queues), number(r.groups))
            for r in traffic.topics
        ),
    )
    print()
    print_table(
        (
            TableColumn("GROUP", least=12),
            TableColumn("OUT/s", right=True),
            TableColumn("LAG", right=True),
            TableColumn("MEMBERS", right=True),
            TableColumn("TOPICS", least=12),
        ),
        ((r.group, rate(r.rate), count(r.lag), count(r.members), ", ".join(r.topics)) for r in traffic.groups),
    )
