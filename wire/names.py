"""Names of topics and groups: validation, RocketMQ's system names, and Apache's error texts.

The texts are those of 4.9.7's client (``Validators``) and broker (``TopicValidator``); applications and
people search for them. Functions named ``*_problem`` return such a text, or None when the name is valid.
"""

from collections.abc import Container
from typing import Final

MAX_TOPIC_LENGTH: Final = 127
MAX_RETRY_TOPIC_LENGTH: Final = 255
"""Of a topic of retried messages or dead letters, as Apache 5.5.0 has it: 4.9.7 takes 127. A group's name and a topic's
are in the one of POP."""
MAX_GROUP_LENGTH: Final = 255
MAX_BROKER_NAME_LENGTH: Final = 255
"""Characters of a broker's name in the handle of a popped message: it is written into records. A limit of our own."""
MAX_CLIENT_ID_LENGTH: Final = 512
"""Characters. Official clients join the name of a host and some numbers. A limit of our own, too."""
ALLOWED_CHARACTERS: Final = "^[%|a-zA-Z0-9_-]+$"

RETRY_PREFIX: Final = "%RETRY%"
DEAD_LETTER_PREFIX: Final = "%DLQ%"
LIGHT_QUEUE_PREFIX: Final = "%LMQ%"
"""Of 5.x's light queues: their entries lead to messages of other topics, and no table names them."""
SYSTEM_TOPIC_PREFIX: Final = "rmq_sys_"
SYSTEM_GROUP_PREFIX: Final = "CID_RMQ_SYS_"
REVIVE_TOPIC_PREFIX: Final = "rmq_sys_REVIVE_LOG_"
REVIVE_GROUP: Final = "CID_RMQ_SYS_REVIVE_GROUP"
"""Its offsets in the revive topic mark which check points are done."""
REPLY_TOPIC_SUFFIX: Final = "REPLY_TOPIC"

AUTO_CREATE_TOPIC: Final = "TBW102"
SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
BENCHMARK_TOPIC: Final = "BenchmarkTest"
TRANS_HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
REGION_TRACE_PREFIX: Final = "rmq_sys_TRACE_DATA_"
"""Before the region: where clients of cloud services (`AccessChannel.CLOUD`) send their traces."""
TRANS_OP_HALF_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
TRANS_CHECK_MAX_TIME_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
SELF_TEST_TOPIC: Final = "SELF_TEST_TOPIC"
OFFSET_MOVED_EVENT: Final = "OFFSET_MOVED_EVENT"
TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
"""The topic in whose queue 0 messages wait for their delivery time."""

SYSTEM_TOPICS: Final = frozenset(
    {
        AUTO_CREATE_TOPIC,
        SCHEDULE_TOPIC,
        BENCHMARK_TOPIC,
        TRANS_HALF_TOPIC,
        TRACE_TOPIC,
        TRANS_OP_HALF_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_EVENT,
    }
)
"""System topics of every broker; a broker adds its own name, its cluster's and the cluster's reply topic."""

_ROCKSDB_HALF_TOPIC: Final = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC"
SYSTEM_TOPICS_OF_5X: Final = frozenset(
    {
        _ROCKSDB_HALF_TOPIC,
        "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
        "CHECKPOINT_TOPIC",
    }
)
"""Those that 5.x adds: names that a 4.9 broker lets users have."""

HALF_TOPICS: Final = frozenset({TRANS_HALF_TOPIC, _ROCKSDB_HALF_TOPIC})
"""Where brokers keep half messages, those of 5.x with RocksDB in the second one."""

SEND_FORBIDDEN_TOPICS: Final = frozenset(
    {
        SCHEDULE_TOPIC,
        TRANS_HALF_TOPIC,
        TRANS_OP_HALF_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_EVENT,
        TIMER_TOPIC,
    }
)
"""Topics that clients may not send to."""

PENDING_TOPICS: Final = frozenset({SCHEDULE_TOPIC, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC, TIMER_TOPIC})
"""Topics in which the broker keeps messages until they are due or decided. The revive topic is one, too."""

PREDEFINED_GROUPS: Final = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
)
"""Consumer groups that a 4.9 broker writes at its start."""

_ALLOWED: Final = frozenset("%|-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def group_name_error(group: str) -> str | None:
    """Validate a group's name as the official client does."""
    if not group.strip():
        return "the specified group is blank"
    if len(group) > MAX_GROUP_LENGTH:
        return f"the specified group is longer than group max length {MAX_GROUP_LENGTH}."
    if not _ALLOWED.issuperset(group):
        return f"the specified group[{group}] contains illegal characters, allowing only {ALLOWED_CHARACTERS}"
    return None


def max_topic_length(topic: str) -> int:
    """How many characters a topic may have, by what it begins with."""
    return MAX_RETRY_TOPIC_LENGTH if topic.startswith((RETRY_PREFIX, DEAD_LETTER_PREFIX)) else MAX_TOPIC_LENGTH


def topic_name_error(topic: str) -> str | None:
    """Validate a topic's name as the broker does; the text is the remark of its answer of code 1."""
    if not topic.strip():
        return "The specified topic is blank."
    if not _ALLOWED.issuperset(topic):
        return f"The specified topic contains illegal characters, allowing only {ALLOWED_CHARACTERS}"
    if len(topic) > max_topic_length(topic):
        return "The specified topic is longer than topic max length."
    return None


def system_topic_conflict(topic: str, own: Container[str] = ()) -> str | None:
    """Why a topic cannot be created or deleted: it is RocketMQ's own; remark of an answer of code 1.

    `own` are the system topics that one broker has besides.
    """
    system = topic in own or is_system_topic(topic)
    return f"The topic[{topic}] is conflict with system topic." if system else None


def forbidden_send_reason(topic: str) -> str | None:
    """Why clients may not send to a topic; the remark of an answer of code 16."""
    refused = topic in SEND_FORBIDDEN_TOPICS or topic.startswith(REVIVE_TOPIC_PREFIX)
    return f"Sending message to topic[{topic}] is forbidden." if refused else None


def is_pending_topic(topic: str) -> bool:
    """Whether the broker keeps messages in the topic until they are due or decided."""
    return topic in PENDING_TOPICS or topic.startswith(REVIVE_TOPIC_PREFIX)


def is_system_topic(topic: str) -> bool:
    """Whether the topic is one of RocketMQ's own on every broker."""
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_TOPIC_PREFIX)


def is_system_topic_of_any_version(topic: str) -> bool:
    """Whether the topic is one of RocketMQ's own on a broker of 4.9 or 5.x."""
    return topic in SYSTEM_TOPICS_OF_5X or is_system_topic(topic)


def is_system_group(group: str) -> bool:
    """Whether the consumer group is one of RocketMQ's own."""
    return group.startswith(SYSTEM_GROUP_PREFIX)


def retry_topic(group: str) -> str:
    """Give the topic of a group's messages to be retried."""
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    """Give the topic of a group's messages that were retried too often."""
    return DEAD_LETTER_PREFIX + group


def reply_topic(cluster: str) -> str:
    """Give a cluster's topic for replies to requests."""
    return f"{cluster}_{REPLY_TOPIC_SUFFIX}"


def pop_retry_topic(topic: str, group: str) -> str:
    """Give the topic of messages of another one that a group popped but did not acknowledge, in its older form."""
    return f"{RETRY_PREFIX}{group}_{topic}"


def pop_retry_topic_v2(topic: str, group: str) -> str:
    """Give the same topic in its newer form, from which both names can be read."""
    return f"{RETRY_PREFIX}{group}+{topic}"


def original_pop_topic(topic: str, group: str) -> str:
    """Give the topic that a group popped from, of it or of a retry topic of POP; other names stay as they are."""
    for prefix in (f"{RETRY_PREFIX}{group}+", f"{RETRY_PREFIX}{group}_"):
        if topic.startswith(prefix):
            return topic[len(prefix) :]
    return topic


def revive_topic(cluster: str) -> str:
    """Give the topic of a cluster's check points and acknowledgements of POP."""
    return REVIVE_TOPIC_PREFIX + cluster
