"""Helpers for tests of metrics: a scrape, read by prometheus_client's parser."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rocketwire.server.monitoring import scrape
from rocketwire.server.monitoring.scrape import Scrape
from rocketwire.server.monitoring.sources import MonitoringSources
from tests.server.harness import Server
from tests.server.monitoring.test_health import get

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class Family(NamedTuple):
    """A metric as its collector describes it."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...]


async def scraped(server: Server) -> Samples:
    """All samples by name and sorted labels."""
    answer = await get(server, "/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples: Samples = {}
    for family in text_string_to_metric_families(answer.body.decode()):
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in samples
            samples[key] = sample.value
    return samples


def value(samples: Samples, name: str, /, **labels: str) -> float:
    """One sample; `rocketwire_` is added to its name."""
    return samples[f"rocketwire_{name}", tuple(sorted(labels.items()))]


class Described:
    """Keeps the scrapes of servers, which have what their text does not: the labels of families without samples."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._made: list[Scrape] = []
        monkeypatch.setattr(scrape, "Scrape", self._make)

    def _make(self, sources: MonitoringSources) -> Scrape:
        self._made.append(Scrape(sources))
        return self._made[-1]

    def families(self) -> list[Family]:
        """Every family of the last server, in the order of a scrape; counters with their `_total`."""
        return [
            Family(
                name=family.name + ("_total" if family.type == "counter" else ""),
                kind=family.type,
                text=family.documentation,
                labels=tuple(getattr(family, "_labelnames", ())),
            )
            for family in self._made[-1].registry.collect()
        ]
