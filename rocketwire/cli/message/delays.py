"""When a message shall be delivered: a delay level, a duration or a time, as properties that the brokers understand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rocketwire.cli.errors import CommandError, CommandFailed
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.codes import RequestCode

if TYPE_CHECKING:
    from rocketwire.remoting.cluster import BlockingCluster
    from rocketwire.remoting.connection import BlockingConnection

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"([0-9]{1,12})(ms|s|m|h|d)")
_LEVELS: Final = "messageDelayLevel"


def duration_ms(option: str, text: str) -> int:
    """A duration such as `500ms`, `10s`, `5m`, `2h` or `1d`, in ms.

    Raises:
        Mistake: the text is none.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise CommandError(f"{option} {text}: expected a duration such as 500ms, 10s, 5m, 2h or 1d")
    return int(match[1]) * _UNITS_MS[match[2]]


def delay_properties(cluster: BlockingCluster, topic: str, delay: str, now_ms: int) -> dict[str, str]:
    """The properties for `--delay`: a number is a delay level, all else a duration.

    A duration needs brokers with timers (5.x, rocketwire), or a delay level that takes exactly as long.

    Raises:
        Mistake: the text is neither.
        NoSuchTopic, NotReached: there is no such topic, or a broker does not answer.
        Unsuccessful: the brokers have neither.
    """
    if delay.isascii() and delay.isdigit():
        return {names.DELAY: str(int(delay))}
    wait = duration_ms("--delay", delay)
    brokers = cluster.connections(cluster.send_route(topic).route)
    lacking = _without_timer(brokers)
    if lacking is None:
        return {names.TIMER_DELIVER_MS: str(now_ms + wait)}
    levels = _levels(brokers[lacking])
    if wait not in levels:
        raise CommandFailed(
            f"--delay {delay}: broker {lacking} has no timer, and no delay level of this duration"
            f" (its levels: {' '.join(_shown(each) for each in levels) or 'unknown'})"
        )
    return {names.DELAY: str(levels.index(wait) + 1)}


def time_properties(cluster: BlockingCluster, topic: str, at_ms: int) -> dict[str, str]:
    """The properties for `--at`.

    Raises:
        NoSuchTopic, NotReached: there is no such topic, or a broker does not answer.
        Unsuccessful: a broker has no timer: it would deliver the message at once.
    """
    lacking = _without_timer(cluster.connections(cluster.send_route(topic).route))
    if lacking is not None:
        raise CommandFailed(f"--at: broker {lacking} has no timer, and would deliver the message at once")
    return {names.TIMER_DELIVER_MS: str(at_ms)}


def _without_timer(brokers: dict[str, BlockingConnection]) -> str | None:
    """The name of a broker that has no timer."""
    from rocketwire.remoting.errors import AccessDenied, Refused

    for name, connection in brokers.items():
        try:
            connection.ask(RequestCode.GET_TIMER_CHECK_POINT)
        except AccessDenied:
            raise
        except Refused:
            return name
    return None


def _levels(broker: BlockingConnection) -> list[int]:
    """The durations of a broker's delay levels in ms, from level 1 on."""
    from rocketwire.remoting.errors import Refused
    from rocketwire.server.config.java_properties import parse_java_properties

    try:
        text = broker.ask(RequestCode.GET_BROKER_CONFIG).body.decode("utf-8", "replace")
    except Refused:
        return []
    words = parse_java_properties(text).get(_LEVELS, "").split()
    return [duration_ms(_LEVELS, word) for word in words if _DURATION.fullmatch(word)]


def _shown(milliseconds: int) -> str:
    unit, size = next(
        (unit, size) for unit, size in reversed(_UNITS_MS.items()) if milliseconds % size == 0 and milliseconds >= size
    )
    return f"{milliseconds // size}{unit}"
