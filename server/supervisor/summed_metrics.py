"""One `/metrics` and one `/readyz` of all brokers: their samples are added up."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from http import HTTPStatus
from operator import add
from typing import Final

import trio
from prometheus_client import CollectorRegistry, GCCollector, Metric, ProcessCollector, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.http.messages import HttpRequest, HttpResponse, json_response
from rocketwire.server.monitoring.families import CONTENT_TYPE, counters, format_family, gauge
from rocketwire.server.monitoring.traffic import requests_by_code
from rocketwire.server.supervisor.broker_process import BrokerProcess
from rocketwire.server.supervisor.http_client import NoAnswer, get

_LARGEST_COUNTS: Final = ("_ratio", "_seconds", "_info", "rocketwire_topics")
"""Endings of gauges whose sum means nothing: shares, ages and times, and what all brokers have alike."""
_SMALLEST_COUNTS: Final = ("_writable",)


class SummedMonitoring:
    """Answers /metrics and /readyz.

    Args:
        brokers: The brokers, each with an HTTP port.
        metrics: The supervisor's own, of its name server.
    """

    def __init__(self, brokers: Sequence[BrokerProcess], metrics: Metrics) -> None:
        self._brokers = brokers
        self._metrics = metrics
        self._one_at_a_time = trio.Lock()
        self._own = CollectorRegistry()
        ProcessCollector(registry=self._own)
        GCCollector(registry=self._own)

    async def show_metrics(self, _: HttpRequest) -> HttpResponse:
        """/metrics: the sum of what the brokers that run answer, and of this process."""
        async with self._one_at_a_time:
            texts = [body.decode() for _, _, body in await self._fetch("/metrics")]
            own = b"".join(map(format_family, self._own_families())) + generate_latest(self._own)
            body = await trio.to_thread.run_sync(summed, [*texts, own.decode()])
        return HttpResponse(body=body, content_type=CONTENT_TYPE)

    def _own_families(self) -> Iterator[Metric]:
        yield requests_by_code(self._metrics.requests)
        running = sum(broker.running is not None for broker in self._brokers)
        yield gauge("brokers_running", "Brokers of this server that run.", running)
        yield counters(
            "broker_restarts",
            "How often a broker ended and was started again.",
            ("broker",),
            [((broker.name,), broker.restarts) for broker in self._brokers],
        )

    async def show_ready(self, _: HttpRequest) -> HttpResponse:
        """/readyz: whether all brokers are ready, and the checks of each."""
        answers = {name: (status, body) for name, status, body in await self._fetch("/readyz")}
        ready = True
        brokers: dict[str, object] = {}
        for broker in self._brokers:
            status, body = answers.get(broker.name, (0, b""))
            ready &= status == HTTPStatus.OK
            brokers[broker.name] = json.loads(body) if body else "does not run"
        return json_response(
            {"ready": ready, "brokers": brokers},
            status=HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE,
        )

    async def _fetch(self, path: str) -> list[tuple[str, int, bytes]]:
        """Name, status and body of each broker that answers."""
        found: list[tuple[str, int, bytes]] = []

        async def fetch(broker: BrokerProcess) -> None:
            if broker.running is not None and broker.running.http is not None:
                with contextlib.suppress(NoAnswer):  # it is about to end, or hangs: /readyz says so
                    found.append((broker.name, *await get(broker.running.http, path)))

        async with trio.open_nursery() as nursery:
            for broker in self._brokers:
                nursery.start_soon(fetch, broker)
        return found


def summed(texts: Iterable[str]) -> bytes:
    """Texts in Prometheus's format as one: samples of the same name and labels are added up.

    Of gauges that cannot be added, the largest counts, or the smallest of what must hold for all.
    """
    families: dict[str, Metric] = {}
    samples: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    for text in texts:
        for family in text_string_to_metric_families(text):
            families.setdefault(family.name, family)
            joined = _joining(family)
            values = samples.setdefault(family.name, {})
            for sample in family.samples:
                key = sample.name, tuple(sample.labels.items())
                known = values.get(key)
                values[key] = sample.value if known is None else joined(known, sample.value)
    for name, family in families.items():
        family.samples = []
        for (sample_name, labels), value in samples[name].items():
            family.add_sample(sample_name, dict(labels), value)
    return b"".join(map(format_family, families.values()))


def _joining(family: Metric) -> Callable[[float, float], float]:
    if family.type != "gauge":
        return add
    if family.name.endswith(_SMALLEST_COUNTS):
        return min
    return max if family.name.endswith(_LARGEST_COUNTS) else add
