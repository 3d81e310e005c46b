import pytest

from rocketwire.wire import names

ALLOWED = "^[%|a-zA-Z0-9_-]+$"


@pytest.mark.parametrize(
    ("topic", "problem"),
    [
        ("TopicTest", None),
        ("%RETRY%a-b_c|9", None),
        ("t" * 127, None),
        ("t" * 128, "The specified topic is longer than topic max length."),
        ("%RETRY%" + "t" * 248, None),
        ("%RETRY%" + "t" * 249, "The specified topic is longer than topic max length."),
        ("%DLQ%" + "t" * 250, None),
        ("%DLQ%" + "t" * 251, "The specified topic is longer than topic max length."),
        ("", "The specified topic is blank."),
        (" \t", "The specified topic is blank."),
        ("a b", f"The specified topic contains illegal characters, allowing only {ALLOWED}"),
        ("主题", f"The specified topic contains illegal characters, allowing only {ALLOWED}"),
        ("." * 128, f"The specified topic contains illegal characters, allowing only {ALLOWED}"),
    ],
)
def test_topics(topic: str, problem: str | None) -> None:
    assert names.topic_name_error(topic) == problem


@pytest.mark.parametrize(
    ("group", "problem"),
    [
        ("group_a", None),
        ("g" * 255, None),
        ("g" * 256, "the specified group is longer than group max length 255."),
        (" ", "the specified group is blank"),
        ("a/b", f"the specified group[a/b] contains illegal characters, allowing only {ALLOWED}"),
    ],
)
def test_groups(group: str, problem: str | None) -> None:
    assert names.group_name_error(group) == problem


@pytest.mark.parametrize(
    ("topic", "system", "sendable"),
    [
        ("TopicTest", False, True),
        ("TBW102", True, True),
        ("RMQ_SYS_TRACE_TOPIC", True, True),
        ("rmq_sys_anything", True, True),
        ("SCHEDULE_TOPIC_XXXX", True, False),
        ("RMQ_SYS_TRANS_HALF_TOPIC", True, False),
        ("OFFSET_MOVED_EVENT", True, False),
    ],
)
def test_system_topics(topic: str, system: bool, sendable: bool) -> None:
    assert names.is_system_topic(topic) is system
    assert names.system_topic_conflict(topic) == (
        f"The topic[{topic}] is conflict with system topic." if system else None
    )
    assert names.forbidden_send_reason(topic) == (
        None if sendable else f"Sending message to topic[{topic}] is forbidden."
    )


def test_topics_that_5x_adds_are_system_topics_of_a_store_only() -> None:
    for topic in names.SYSTEM_TOPICS_OF_5X:
        assert names.is_system_topic_of_any_version(topic)
        assert not names.is_system_topic(topic)
    assert names.is_system_topic_of_any_version("SCHEDULE_TOPIC_XXXX")
    assert not names.is_system_topic_of_any_version("%RETRY%group")


def test_a_brokers_own_topics_are_system_topics_too() -> None:
    assert names.system_topic_conflict("C", {"C"}) == "The topic[C] is conflict with system topic."
    assert names.system_topic_conflict("T", {"C"}) is None


def test_topics_that_may_not_be_sent_to_are_system_topics() -> None:
    assert all(map(names.is_system_topic, names.SEND_FORBIDDEN_TOPICS))


def test_names_made_of_others() -> None:
    assert names.retry_topic("g") == "%RETRY%g"
    assert names.dead_letter_topic("g") == "%DLQ%g"
    assert names.reply_topic("DefaultCluster") == "DefaultCluster_REPLY_TOPIC"


def test_system_groups() -> None:
    assert names.is_system_group("CID_RMQ_SYS_TRANS")
    assert not names.is_system_group("CID_RMQ")


@pytest.mark.parametrize(
    ("topic", "group", "popped"),
    [
        ("%RETRY%g_t", "g", "t"),
        ("%RETRY%g+t", "g", "t"),
        ("%RETRY%g+a+b", "g", "a+b"),
        ("t", "g", "t"),
        ("%RETRY%g", "g", "%RETRY%g"),
        ("%RETRY%g_t", "other", "%RETRY%g_t"),
    ],
)
def test_retry_topics_of_pop(topic: str, group: str, popped: str) -> None:
    assert names.original_pop_topic(topic, group) == popped
    if topic.startswith("%RETRY%g_"):
        assert names.pop_retry_topic("t", "g") == topic
    assert names.original_pop_topic(names.pop_retry_topic_v2("t", "g"), "g") == "t"


def test_the_revive_topic() -> None:
    assert names.revive_topic("DefaultCluster") == "rmq_sys_REVIVE_LOG_DefaultCluster"
    assert names.is_system_group(names.REVIVE_GROUP)
