"""What processes carry and large clusters need, computed from measured costs, and checked by a simulation.

`python -m bench.scale` prints the tables of docs/scale.md; `--write` writes them there. Theory: a process of ours
serves with one thread, so it is a queue with one server: requests come at times of a seeded generator, each takes its
recorded cost (scale_costs.json), and waits until those before it are done. No process is started.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.table import render
from compat_tests.readme import ROOT

PAGE: Final = ROOT / "docs" / "scale.md"
COSTS: Final = Path(__file__).with_name("scale_costs.json")
PERIOD: Final = 30.0
"""Seconds between two heartbeats, requests for a route, and registrations."""
BUSY: Final = 0.5
"""The part of a processor that a plan gives a process; the rest is for peaks."""
_PART: Final = re.compile(r"(?<=<!-- scale:begin -->\n\n).*?(?=\n\n<!-- scale:end -->)", re.DOTALL)
_Times = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Microseconds of processor time and bytes, as `bench.scale_costs` measures them.

    Attributes:
        route: Of a name server, for a request for a route.
        heartbeat: Of a broker, for an unchanged one.
        registered_topic: Of a name server, for each topic of a registration.
        proxy_route: Of a proxy, for a request for a route.
        proxy_frame: Of a proxy, for a request to a broker and its answer, one at a time.
        heartbeat_bytes: Of the request.
        route_bytes: Of the request and the body of its answer.
        topic_bytes: Of each topic in a registration.
        proxy_connection: Memory of a proxy for a client's connection to a broker.
        connection: Memory of a broker for a client's connection.
    """

    route: float
    heartbeat: float
    registered_topic: float
    proxy_route: float
    proxy_frame: float
    heartbeat_bytes: int
    route_bytes: int
    topic_bytes: int
    proxy_connection: float
    connection: float

    def written(self) -> str:
        """As scale_costs.json has them."""
        return json.dumps(asdict(self), indent=2) + "\n"


def recorded() -> Costs:
    """The costs that were measured last."""
    return Costs(**json.loads(COSTS.read_text("utf-8")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster; each client uses some topics, which lie on the same brokers."""

    clients: int
    brokers: int = 1000
    topics: int = 100_000
    brokers_of_topic: int = 8
    topics_of_client: int = 2

    @property
    def routes(self) -> float:
        """Requests for a route a second."""
        return self.clients * self.topics_of_client / PERIOD

    @property
    def heartbeats(self) -> float:
        """Heartbeats a second."""
        return self.clients * self.brokers_of_topic / PERIOD

    @property
    def topics_of_broker(self) -> float:
        """Topics that a broker registers."""
        return self.topics * self.brokers_of_topic / self.brokers

    def registering(self, costs: Costs) -> float:
        """The part of a processor that registrations take of each name server, however many there are."""
        return self.brokers / PERIOD * self.topics_of_broker * costs.registered_topic / 1e6

    def name_servers(self, costs: Costs) -> int:
        """How many name servers are needed."""
        return math.ceil(self.routes * costs.route / 1e6 / (BUSY - self.registering(costs)))

    def proxies(self, costs: Costs) -> int:
        """How many proxies are needed if all clients use them."""
        return math.ceil((self.routes * costs.proxy_route + self.heartbeats * costs.proxy_frame) / 1e6 / BUSY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a simulated process did: the part of time that it was busy, seconds of waiting."""

    busy: float
    wait_p99: float
    wait_most: float


def served(times: _Times, costs: _Times, seconds: float) -> Found:
    """One server, one request after the other; `costs` in seconds."""
    order = np.argsort(times, kind="stable")
    times, costs = times[order], costs[order]
    spent = np.cumsum(costs)
    done = spent + np.maximum.accumulate(times - (spent - costs))
    waits = done - times
    return Found(
        busy=float(spent[-1]) / seconds, wait_p99=float(np.quantile(waits, 0.99)), wait_most=float(waits.max())
    )


def simulate(kinds: Sequence[tuple[int, float]], servers: int, *, within: float, seed: int) -> Found:
    """The busiest of `servers` in a period.

    Args:
        kinds: Of requests: how many in a period for all servers, and the microseconds of each.
        servers: Each request goes to one of them, at random.
        within: All come in so many seconds from the beginning of the period.
        seed: Of the generator.
    """
    random = np.random.default_rng(seed)
    count = sum(number for number, _ in kinds)
    times, at = random.random(count) * within, random.integers(0, servers, count)
    costs = np.repeat([each / 1e6 for _, each in kinds], [number for number, _ in kinds])
    found = [served(times[at == one], costs[at == one], PERIOD) for one in range(servers) if (at == one).any()]
    return max(found, key=lambda each: (each.wait_p99, each.busy))


def tables(cluster: Cluster, larger: Cluster, costs: Costs, *, seed: int = 22) -> str:
    """All tables of the page."""
    return "\n\n".join((_carried(costs), _needed((cluster, larger), costs), _simulated(cluster, costs, seed)))


def _carried(costs: Costs) -> str:
    rows = [
        ["name server: questions for a route", f"{costs.route:g} µs", f"{BUSY * 1e6 / costs.route:,.0f}/s"],
        [
            "name server: topics registered by all brokers",
            f"{costs.registered_topic:g} µs, {costs.topic_bytes} B",
            f"{BUSY * 1e6 / costs.registered_topic * PERIOD:,.0f} every 30 s",
        ],
        [
            "broker: unchanged heartbeats",
            f"{costs.heartbeat:g} µs, {costs.heartbeat_bytes} B",
            f"{BUSY * 1e6 / costs.heartbeat * PERIOD:,.0f} clients",
        ],
        ["proxy: questions for a route", f"{costs.proxy_route:g} µs", f"{BUSY * 1e6 / costs.proxy_route:,.0f}/s"],
        [
            "proxy: requests and answers, alone",
            f"{costs.proxy_frame:g} µs",
            f"{BUSY * 1e6 / costs.proxy_frame:,.0f}/s",
        ],
        [
            "proxy: connections",
            f"{costs.proxy_connection / 1024:.1f} KiB",
            f"{(1 << 30) / costs.proxy_connection:,.0f} a GiB",
        ],
    ]
    return render(["one process", "measured, each", "carries with half a processor"], rows)


def _needed(clusters: Sequence[Cluster], costs: Costs) -> str:
    def row(text: str, values: Sequence[str]) -> list[str]:
        return [text, *values]

    megabytes = [each.brokers * each.topics_of_broker * costs.topic_bytes / PERIOD / 1e6 for each in clusters]
    rows = [
        row("heartbeats a second", [f"{each.heartbeats:,.0f}" for each in clusters]),
        row("of them at each broker", [f"{each.heartbeats / each.brokers:,.0f}" for each in clusters]),
        row("heartbeats, MB/s", [f"{each.heartbeats * costs.heartbeat_bytes / 1e6:,.1f}" for each in clusters]),
        row("routes a second", [f"{each.routes:,.0f}" for each in clusters]),
        row("routes, MB/s", [f"{each.routes * costs.route_bytes / 1e6:,.1f}" for each in clusters]),
        row("registrations at each name server, MB/s", [f"{each:,.1f}" for each in megabytes]),
        row("processor of it at each name server", [f"{each.registering(costs):.2f}" for each in clusters]),
        row("name servers", [f"{each.name_servers(costs):,}" for each in clusters]),
        row("proxies, if all clients use them", [f"{each.proxies(costs):,}" for each in clusters]),
        row(
            "connections, memory at each broker",
            [
                f"{(n := each.clients * each.brokers_of_topic // each.brokers):,}, "
                f"{n * costs.connection / 2**20:,.1f} MiB"
                for each in clusters
            ],
        ),
        row(
            "connections, memory at each proxy",
            [
                f"{(n := each.clients * (each.brokers_of_topic + 1) // each.proxies(costs)):,}, "
                f"{n * costs.proxy_connection / 2**20:,.0f} MiB"
                for each in clusters
            ],
        ),
    ]
    return render([f"{clusters[0].brokers:,} brokers", *(f"{each.clients:,} clients" for each in clusters)], rows)


def _simulated(cluster: Cluster, costs: Costs, seed: int) -> str:
    routes, beats = round(cluster.routes * PERIOD), round(cluster.heartbeats * PERIOD)
    names, proxies = cluster.name_servers(costs), cluster.proxies(costs)
    registrations = (cluster.brokers * names, cluster.topics_of_broker * costs.registered_topic)
    sides = (
        (f"name server, 1 of {names}", [(routes, costs.route), registrations], names),
        (f"proxy, 1 of {proxies}", [(routes, costs.proxy_route), (beats, costs.proxy_frame)], proxies),
        (f"broker, 1 of {cluster.brokers}", [(beats, costs.heartbeat)], cluster.brokers),
    )
    rows = []
    for text, kinds, servers in sides:
        computed = sum(number * each for number, each in kinds) / 1e6 / PERIOD / servers
        calm = simulate(kinds, servers, within=PERIOD, seed=seed)
        storm = simulate(kinds, servers, within=1.0, seed=seed)
        waits = [f"{each.wait_p99:.4f} / {each.wait_most:.4f}" for each in (calm, storm)]
        rows.append([text, f"{computed:.4f}", f"{calm.busy:.4f}", *waits])
    header = [f"{cluster.brokers:,} brokers, {cluster.clients:,} clients", "busy, computed", "busiest, simulated"]
    return render([*header, "wait p99 / most, s", "all within a second: p99 / most, s"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/scale.md")
    options = parser.parse_args(arguments)
    text = tables(Cluster(clients=100_000), Cluster(clients=1_000_000), recorded())
    if options.write:
        _write(PAGE, text)
    else:
        print(text)
    return 0


def _write(page: Path, text: str) -> None:
    page.write_text(_PART.sub(lambda _: text, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
