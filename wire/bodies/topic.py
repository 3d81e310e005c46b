"""Bodies of topics: the configuration of one, and a broker's table of all."""

from dataclasses import dataclass, field
from enum import StrEnum

from rocketwire.wire.java import Int32, Int64


class TopicFilterType(StrEnum):
    """How many tags a message of the topic has."""

    SINGLE_TAG = "SINGLE_TAG"
    MULTI_TAG = "MULTI_TAG"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataVersion:
    """The version of a table: a count of its changes and the time of the last one in milliseconds."""

    counter: Int64 = 0
    timestamp: Int64 = 0
    state_version: Int64 | None = None
    """Only 5.x has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """One topic; ``perm`` has the bits of ``Permission``."""

    topic_name: str = ""
    read_queue_nums: Int32 = 16
    write_queue_nums: Int32 = 16
    perm: Int32 = 6
    topic_filter_type: TopicFilterType = TopicFilterType.SINGLE_TAG
    topic_sys_flag: Int32 = 0
    order: bool = False
    attributes: dict[str, str] | None = None
    """Only 5.x has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfigSerializeWrapper:
    """All topics of a broker by name."""

    topic_config_table: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicListRequestBody:
    """Topics to create or change (18)."""

    topic_config_list: tuple[TopicConfig, ...] = ()
