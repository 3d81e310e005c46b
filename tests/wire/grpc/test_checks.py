from collections.abc import Callable
from typing import Any

import pytest

from rocketwire.wire.grpc import checks
from rocketwire.wire.grpc.checks import CallLimits
from rocketwire.wire.grpc.codes import CallInvalid, Code
from tests.wire import golden

_LIMITS = CallLimits()


def _code(check: Callable[..., None], *args: Any, **more: Any) -> int:
    try:
        check(*args, **more)
    except CallInvalid as error:
        return error.code
    return 0


@pytest.mark.parametrize(("name", "topic", "group"), golden.grpc_cases("names"))
def test_names_are_checked_as_at_apaches(name: str, topic: int, group: int) -> None:
    assert _code(checks.check_topic, name) == topic
    # 5.5.0's groups end at 120 characters; those of 4.x, which this allows, too, at 255.
    assert _code(checks.check_group, name) == (0 if 120 < len(name) <= 255 else group)


@pytest.mark.parametrize(
    ("text", "tag", "key"),
    [
        ("", 0, 0),
        ("a b", 0, 0),
        (" ", Code.ILLEGAL_MESSAGE_TAG, Code.ILLEGAL_MESSAGE_KEY),
        ("a\x85b", Code.ILLEGAL_MESSAGE_TAG, Code.ILLEGAL_MESSAGE_KEY),
        ("a\0b", Code.ILLEGAL_MESSAGE_TAG, Code.ILLEGAL_MESSAGE_KEY),
        ("a|b", Code.ILLEGAL_MESSAGE_TAG, 0),
    ],
)
def test_tags_and_keys(text: str, tag: int, key: int) -> None:
    assert _code(checks.check_tag, text) == tag
    assert _code(checks.check_key, text) == key


def test_message_groups() -> None:
    assert _code(checks.check_message_group, "g" * 63, _LIMITS) == 0
    assert _code(checks.check_message_group, "g" * 64, _LIMITS) == Code.ILLEGAL_MESSAGE_GROUP
    assert _code(checks.check_message_group, "g" * 64, CallLimits(message_group_bytes=0)) == 0
    assert _code(checks.check_message_group, "\n", _LIMITS) == Code.ILLEGAL_MESSAGE_GROUP


def test_ids() -> None:
    assert _code(checks.check_message_id, "01") == 0
    assert _code(checks.check_message_id, "") == Code.ILLEGAL_MESSAGE_ID
    assert _code(checks.check_message_id, "a\x01b") == Code.ILLEGAL_MESSAGE_ID
    assert _code(checks.check_transaction_id, "01") == 0
    assert _code(checks.check_transaction_id, " ") == Code.INVALID_TRANSACTION_ID
    assert _code(checks.check_client_id, "host@1@0@x") == 0
    assert _code(checks.check_client_id, "") == Code.CLIENT_ID_REQUIRED
    assert _code(checks.check_client_id, "i" * 512) == 0
    assert _code(checks.check_client_id, "i" * 513) == Code.BAD_REQUEST


@pytest.mark.parametrize(
    ("ms", "least", "code"),
    [
        (0, 0, 0),
        (-1, 0, Code.ILLEGAL_INVISIBLE_TIME),
        (9_999, 10_000, Code.ILLEGAL_INVISIBLE_TIME),
        (10_000, 10_000, 0),
        (43_200_000, 0, 0),
        (43_200_001, 0, Code.ILLEGAL_INVISIBLE_TIME),
    ],
)
def test_invisible_times(ms: int, least: int, code: int) -> None:
    assert _code(checks.check_invisible_ms, ms, _LIMITS, least=least) == code


def test_an_invisible_time_without_a_limit() -> None:
    assert _code(checks.check_invisible_ms, 2**40, CallLimits(most_invisible_ms=0)) == 0
