"""Requests about statistics: one item's minute, hour and day (315)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import StatisticsUnknown
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.statistics.counters import Counters, Period
from rocketwire.server.statistics.statistics import DELIVERED, STORED, GroupTopic, Statistics
from rocketwire.server.statistics.windows import StatisticsColumn, Sums
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.statistics import BrokerStatsData, BrokerStatsItem
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.admin import ViewBrokerStatsDataRequestHeader

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsServices:
    """The services of these requests."""

    broker_keys: LiveGroup[BrokerKeys]
    statistics: Statistics


Three: TypeAlias = list[Sums]
"""The sums of a minute, an hour and a day."""
_Find: TypeAlias = Callable[[StatisticsServices, str], Three | None]
"""Finds what a key stands for; None: nothing was counted for it."""


family: Final = RequestRoutes[StatisticsServices]("statistics")


def _three(counters: Counters[K], key: K, column: StatisticsColumn = StatisticsColumn.MESSAGES) -> Three:
    return [counters.sums(key, period, column) for period in Period]


def _of_topic(column: StatisticsColumn) -> _Find:
    def find(services: StatisticsServices, topic: str) -> Three | None:
        statistics = services.statistics
        return _three(statistics.topics, topic, column) if statistics.has_stored(topic) else None

    return find


def _of_group(counters_of: Callable[[Statistics], Counters[GroupTopic]], column: StatisticsColumn) -> _Find:
    def find(services: StatisticsServices, text: str) -> Three | None:
        topic, _, group = text.partition("@")
        counters = counters_of(services.statistics)
        return _three(counters, (group, topic), column) if (group, topic) in counters else None

    return find


def _of_broker(key: str) -> _Find:
    def find(services: StatisticsServices, cluster: str) -> Three | None:
        statistics = services.statistics
        statistics.count_all()
        known = key in statistics.broker and cluster == services.broker_keys.current.broker_cluster_name
        return _three(statistics.broker, key) if known else None

    return find


def _delivered(statistics: Statistics) -> Counters[GroupTopic]:
    return statistics.delivered


def _sent_back(statistics: Statistics) -> Counters[GroupTopic]:
    return statistics.sent_back


_ITEMS: Final[Mapping[str, _Find]] = {
    "TOPIC_PUT_NUMS": _of_topic(StatisticsColumn.MESSAGES),
    "TOPIC_PUT_SIZE": _of_topic(StatisticsColumn.BYTES),
    "GROUP_GET_NUMS": _of_group(_delivered, StatisticsColumn.MESSAGES),
    "GROUP_GET_SIZE": _of_group(_delivered, StatisticsColumn.BYTES),
    "SNDBCK_PUT_NUMS": _of_group(_sent_back, StatisticsColumn.MESSAGES),
    "BROKER_PUT_NUMS": _of_broker(STORED),
    "BROKER_GET_NUMS": _of_broker(DELIVERED),
}


@family.route(
    RequestCode.VIEW_BROKER_STATS_DATA,
    header=ViewBrokerStatsDataRequestHeader,
    summary="what came and went in the last minute, hour and day, by topic or group",
)
def _view(services: StatisticsServices, request: Request[ViewBrokerStatsDataRequestHeader]) -> Reply:
    """An item begins with the first message after the start."""
    name, key = request.fields.stats_name, request.fields.stats_key
    find = _ITEMS.get(name)
    found = None if find is None else find(services, key)
    if found is None:
        raise StatisticsUnknown(name, key)
    minute, hour, day = found
    return Reply(
        body=(
            encode_body(
                BrokerStatsData(
                    stats_minute=BrokerStatsItem(sum=minute.total, tps=minute.per_second, avgpt=minute.per_call),
                    stats_hour=BrokerStatsItem(sum=hour.total, tps=hour.per_second, avgpt=hour.per_call),
                    stats_day=BrokerStatsItem(sum=day.total, tps=day.per_second, avgpt=day.per_call),
                )
            ),
        )
    )
