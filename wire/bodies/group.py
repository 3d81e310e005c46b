"""Bodies of subscription groups: the configuration of one, and a broker's table of all."""

from dataclasses import dataclass, field
from typing import Any

from rocketwire.wire.bodies.topic import DataVersion
from rocketwire.wire.java import Int32, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionGroupConfig:
    """One consumer group. The fields that default to None are 5.x's; they are kept when a file has them."""

    group_name: str = ""
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: Int32 = 1
    retry_max_times: Int32 = 16
    broker_id: Int64 = 0
    which_broker_when_consume_slowly: Int64 = 1
    notify_consumer_ids_changed_enable: bool = True
    attributes: dict[str, str] | None = None
    consume_message_orderly: bool | None = None
    consume_timeout_minute: Int32 | None = None
    group_retry_policy: dict[str, Any] | None = None
    group_sys_flag: Int32 | None = None
    subscription_data_set: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionGroupWrapper:
    """All groups of a broker by name."""

    subscription_group_table: dict[str, SubscriptionGroupConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)
    forbidden_table: dict[str, dict[str, Int32]] | None = None
    """Only 5.x has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionGroupList:
    """Groups to create or change (225)."""

    group_config_list: tuple[SubscriptionGroupConfig, ...] = ()
