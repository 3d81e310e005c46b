"""Metrics of requests, messages and connections, and of refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import Metric

from rocketwire.server.core.metrics import ACL_REASONS, RECEIVE, SEND, UNSERVED, Metrics
from rocketwire.server.faults.rule import COUNTED
from rocketwire.server.limits.limits import LIMIT_NAMES
from rocketwire.server.monitoring.families import counter, counters, gauge, gauges, histograms
from rocketwire.server.monitoring.latencies import Histogram, Latencies
from rocketwire.server.monitoring.sources import Listeners
from rocketwire.server.net.admission.descriptors import KEPT_FOR_STORE, Descriptors
from rocketwire.server.throttle.throttle import ACCOUNT, BACKLOG, COLD, GROUP, INSTANCE, TOPIC
from rocketwire.wire.facts.codes import RequestCode

_NAMES: Final = {int(code): code.name for code in RequestCode} | {UNSERVED: "unserved"}
_BUSIEST: Final = (
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.PULL_MESSAGE,
    RequestCode.HEART_BEAT,
)
"""Codes with a series from the start, so that their first increase is visible."""
_THROTTLED: Final = (
    *((direction, kind) for direction in (SEND, RECEIVE) for kind in (INSTANCE, TOPIC, GROUP, ACCOUNT)),
    (SEND, BACKLOG),
    (RECEIVE, COLD),
)


def requests(metrics: Metrics, latencies: Latencies) -> Iterator[Metric]:
    """Requests, how long they take, and messages."""
    yield requests_by_code(metrics.requests)
    yield durations(
        "request_duration_seconds",
        "From the arrival of the read that brought a request to the hand-over of its answers, or until it is put aside "
        "(a pull that is held, a send that waits for a flush).",
        latencies.requests,
    )
    yield histograms(
        "flush_duration_seconds", "Flushes that sends waited for (SYNC_FLUSH).", (), [((), latencies.flushes)]
    )
    yield counter("stored_messages", "Messages that clients had stored.", metrics.messages_in)
    yield counter("stored_bytes", "Bytes of these messages as the commit log has them.", metrics.bytes_in)
    yield counter("delivered_messages", "Messages handed to consumers.", metrics.messages_out)
    yield counter("delivered_bytes", "Bytes of these messages as the commit log has them.", metrics.bytes_out)


def durations(name: str, text: str, of: Mapping[int, Histogram]) -> Metric:
    """Histograms by request code."""
    return histograms(name, text, ("code",), (((_NAMES[code],), histogram) for code, histogram in of.items()))


def requests_by_code(requests: Mapping[int, int]) -> Metric:
    """Requests."""
    counts: dict[int, int] = {**dict.fromkeys(map(int, _BUSIEST), 0), **requests}
    return counters(
        "requests",
        "Requests by the name of their code, refused ones among them; unserved: codes without a handler.",
        ("code",),
        (((_NAMES[code],), count) for code, count in counts.items()),
    )


def refusals(metrics: Metrics, fault_rules: int) -> Iterator[Metric]:
    """Refusals by quotas, limits and access control, and injected faults."""
    yield counters(
        "converted_messages",
        "Converted messages that passed quotas.",
        ("direction",),
        (((direction,), metrics.converted[direction]) for direction in (SEND, RECEIVE)),
    )
    yield counters(
        "throttled_requests",
        "Requests refused with code 215; kind: whose quota (instance, topic, group, account), or backlog, or cold "
        "(reads of old messages).",
        ("direction", "kind"),
        {**dict.fromkeys(_THROTTLED, 0), **metrics.throttled}.items(),
    )
    yield _by_name(
        "limit_refusals",
        "Requests and connections that a limit refused or ended.",
        "limit",
        LIMIT_NAMES,
        metrics.limited,
    )
    yield _by_name("acl_refusals", "Requests that access control refused.", "reason", ACL_REASONS, metrics.acl_refused)
    yield gauge("fault_rules", "Fault rules in force that may strike.", fault_rules)
    yield _by_name("injected_faults", "Faults that --fault or /faults injected.", "action", COUNTED, metrics.faults)


def descriptors(of: Descriptors) -> Iterator[Metric]:
    """The division of the descriptors."""
    taken, most = of.connections.taken, of.connections.most
    yield gauge(
        "store_descriptors", "Descriptors reserved for the store, which connections never take.", KEPT_FOR_STORE
    )
    yield gauge(
        "connection_descriptors", "Descriptors that connections have taken; one that speaks TLS takes 3.", taken
    )
    yield gauge("connection_descriptors_limit", "Descriptors that connections may take.", most)


def _by_name(name: str, text: str, label: str, known: Iterable[str], counts: Counter[str]) -> Metric:
    """Counts; known names have a series from the start, so that their first increase is visible."""
    return counters(
        name, text, (label,), (((of,), count) for of, count in {**dict.fromkeys(known, 0), **counts}.items())
    )


def tls(metrics: Metrics) -> Iterator[Metric]:
    """TLS connections and failed handshakes."""
    yield gauge("tls_connections", "Open connections that speak TLS.", metrics.tls_connections)
    yield counter("tls_handshake_failures", "TLS handshakes that came to nothing.", metrics.tls_failures)


def clients(listeners: Listeners, held_pulls: int, held_pops: int, in_flight: int) -> Iterator[Metric]:
    """Connections."""
    yield connections(listeners)
    yield gauge("held_pulls", "Pulls that wait for messages.", held_pulls)
    yield gauge("held_pops", "Pops and notifications that wait for messages.", held_pops)
    yield bytes_in_flight(in_flight)


def connections(listeners: Listeners) -> Metric:
    """Open connections."""
    return gauges(
        "connections",
        "Open connections, by what listens.",
        ("listener",),
        (((name,), sum(len(each.sessions) for each in some)) for name, some in listeners.items()),
    )


def bytes_in_flight(size: int) -> Metric:
    """Bytes in flight."""
    return gauge("in_flight_bytes", "Bytes received and not served yet, or answered and not sent yet.", size)
