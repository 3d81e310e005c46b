"""Health and readiness, for supervisors and load balancers.

/healthz answers 200 while the event loop runs at all. /readyz answers 200 if clients are served normally, else 503; its
body names each check and why it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus

from rocketwire.server.http.messages import HttpRequest, HttpResponse, json_response, text_response
from rocketwire.server.monitoring.sources import Listeners, MonitoredServices

Check = Callable[[], str | None]
"""Returns why something is not ready; None: it is."""


class Readiness:
    """Whether clients are served; `checks` run at each request. While the server stops, the port is closed."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks

    async def ready(self, _: HttpRequest) -> HttpResponse:
        """/readyz."""
        reasons = {name: check() for name, check in self._checks.items()}
        ready = not any(reasons.values())
        return json_response(
            {"ready": ready, "checks": {name: reason or "ok" for name, reason in reasons.items()}},
            status=HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE,
        )


async def healthy(_: HttpRequest) -> HttpResponse:
    """/healthz: the response itself is the result."""
    return text_response("ok")


def listeners_check(listeners: Listeners) -> str | None:
    """Whether connections are accepted."""
    accept = all(listener.accepts for some in listeners.values() for listener in some)
    return None if accept else "no descriptor is left for a further connection"


def store_check(services: MonitoredServices) -> str | None:
    """Whether messages are stored: the store is open, no flush has failed, the disk has room."""
    refusal = services.store.append_refusal
    return None if refusal is None else f"messages are refused: {refusal}"


def timer_check(services: MonitoredServices) -> str | None:
    """Whether the timer has delivered what became due while the broker was stopped."""
    timer = services.timer
    if timer is None or not timer.catching_up:
        return None
    if not timer.ready:
        return "the timer looks what waits"
    return f"the timer is behind: {timer.lag_ms / 1000:.0f} s overdue, {timer.enqueue_behind} messages to take up"
