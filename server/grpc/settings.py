"""The settings that a client gets in answer to those it sends: by the configurations of the broker and the group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rocketwire.server.clients.heartbeats import heartbeat_entries
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Request
from rocketwire.server.grpc.calls import Call
from rocketwire.server.grpc.tables.directories import GroupDirectory
from rocketwire.server.send.keys import SendKeys
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc.definition_pb2 import RetryPolicy, Settings
from rocketwire.wire.grpc.times import put_duration
from rocketwire.wire.headers.group import GetSubscriptionGroupConfigRequestHeader

_PRODUCER_ATTEMPTS: Final = 3
_PRODUCER_INITIAL_MS: Final = 10
_PRODUCER_MOST_MS: Final = 1000
_PRODUCER_FACTOR: Final = 2.0
_BATCH: Final = 32
_POLLING_MS: Final = 20_000
_SECOND: Final = 1000
_MINUTE: Final = 60 * _SECOND
_BACK_OFF_MS: Final = (
    *(1 * _SECOND, 5 * _SECOND, 10 * _SECOND, 30 * _SECOND),
    *(minutes * _MINUTE for minutes in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 60, 120)),
)
_CUSTOMIZED: Final = "CUSTOMIZED"
_EXPONENTIAL: Final = "EXPONENTIAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsServices:
    """What settings are made from."""

    groups: GroupDirectory
    send_keys: LiveGroup[SendKeys]


def merge_settings(services: SettingsServices, sent: Settings) -> Settings:
    """The settings in force for a client that sent these; what the broker does not configure stays."""
    settings = Settings()
    settings.CopyFrom(sent)
    settings.metric.on = False
    if sent.HasField("publishing"):
        _publish(services.send_keys.current, settings)
    if sent.HasField("subscription"):
        _subscribe(group_config(services.groups, sent.subscription.group.name), settings)
    return settings


def check_size(settings: Settings, most_bytes: int) -> None:
    """Refuse settings that make a heartbeat of more than `most_bytes`, before that is made.

    Raises:
        LimitExceeded: they are too long, or have too many tags: each is two entries of the heartbeat.
    """
    if settings.ByteSize() > most_bytes:
        raise LimitExceeded("maxHeartbeatBytes", most_bytes)
    expressions = [each.expression.expression for each in settings.subscription.subscriptions]
    if sum(2 * (text.count("||") + 1) for text in expressions) > heartbeat_entries(most_bytes):
        raise LimitExceeded("bodyEntries", heartbeat_entries(most_bytes))


def group_config_request(call: Call, group: str) -> Request[Any]:
    """The request for a group's configuration."""
    return call.request(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, GetSubscriptionGroupConfigRequestHeader(group=group))


def group_config(groups: GroupDirectory, group: str) -> SubscriptionGroupConfig:
    """A group's configuration; that which it would have if there is none yet."""
    return groups.get(group) or SubscriptionGroupConfig(group_name=group)


def most_attempts(config: SubscriptionGroupConfig) -> int:
    """How often a message is delivered to a group, before it goes to the group's dead letter topic."""
    return config.retry_max_times + 1


def _publish(keys: SendKeys, settings: Settings) -> None:
    policy = settings.backoff_policy
    policy.Clear()
    policy.max_attempts = _PRODUCER_ATTEMPTS
    _exponential(policy, _PRODUCER_INITIAL_MS, _PRODUCER_MOST_MS, _PRODUCER_FACTOR)
    settings.publishing.max_body_size = keys.max_message_size
    settings.publishing.validate_message_type = keys.enable_topic_message_type_check


def _subscribe(config: SubscriptionGroupConfig, settings: Settings) -> None:
    settings.backoff_policy.CopyFrom(_policy(config))
    settings.subscription.fifo = bool(config.consume_message_orderly)
    settings.subscription.receive_batch_size = _BATCH
    put_duration(settings.subscription.long_polling_timeout, _POLLING_MS)


def _policy(config: SubscriptionGroupConfig) -> RetryPolicy:
    """The policy of a group's configuration as 5.x's brokers write it, or the default one."""
    policy = RetryPolicy(max_attempts=most_attempts(config))
    configured = config.group_retry_policy or {}
    if configured.get("type") == _EXPONENTIAL:
        backoff = _part(configured, "exponentialRetryPolicy")
        _exponential(
            policy,
            int(backoff.get("initial", 5 * _SECOND)),
            int(backoff.get("max", 2 * 60 * _MINUTE)),
            float(backoff.get("multiplier", 2)),
        )
        return policy
    steps: Sequence[int] = _BACK_OFF_MS
    if configured.get("type") == _CUSTOMIZED:
        steps = [int(each) for each in _part(configured, "customizedRetryPolicy").get("next", ())] or _BACK_OFF_MS
    for step in steps:
        put_duration(policy.customized_backoff.next.add(), step)
    return policy


def _part(configured: dict[str, Any], name: str) -> dict[str, Any]:
    found = configured.get(name)
    return found if isinstance(found, dict) else {}


def _exponential(policy: RetryPolicy, initial_ms: int, most_ms: int, factor: float) -> None:
    back_off = policy.exponential_backoff
    put_duration(back_off.initial, initial_ms)
    put_duration(back_off.max, most_ms)
    back_off.multiplier = factor
