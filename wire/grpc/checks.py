"""The checks of names and texts in calls; the codes are those of Apache's proxy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rocketwire.wire import names
from rocketwire.wire.grpc.codes import CallInvalid, Code


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """What the checks of calls compare with; 0 is no limit.

    Attributes:
        body_bytes: Of a message's body, as sent.
        user_properties: Of a message.
        property_bytes: Of the names and values of the user properties, the tag and the keys.
        message_group_bytes: A message group is shorter than this.
        delay_ms: How far ahead a message may be delivered; with 0 the broker decides.
        recovery_seconds: Until a transaction is checked first.
        least_invisible_ms: Of a receive; a change of the invisible time has no least one.
        most_invisible_ms: Of both.
    """

    body_bytes: int = 4 * 1024 * 1024
    user_properties: int = 128
    property_bytes: int = 16 * 1024
    message_group_bytes: int = 64
    delay_ms: int = 0
    recovery_seconds: int = 60 * 60
    least_invisible_ms: int = 10 * 1000
    most_invisible_ms: int = 12 * 60 * 60 * 1000


_NAMES_KEPT: Final = 1024

_control_character: Final = re.compile("[\0-\x1f\x7f-\x9f]").search


def has_control_characters(text: str) -> bool:
    """Whether Java's `Character.isISOControl` accepts a character; the separators of property text are two of those."""
    return not text.isprintable() and _control_character(text) is not None


@lru_cache(maxsize=_NAMES_KEPT)  # of valid names only: an error is not kept
def check_topic(name: str) -> None:
    """Refuse a topic that no client may use.

    Raises:
        CallInvalid: the name is not valid, or a topic of RocketMQ's own (`ILLEGAL_TOPIC`).
    """
    problem = names.topic_name_error(name)
    if problem is not None:
        raise CallInvalid(Code.ILLEGAL_TOPIC, problem)
    if names.is_system_topic_of_any_version(name):
        raise CallInvalid(Code.ILLEGAL_TOPIC, "cannot access system topic")


@lru_cache(maxsize=_NAMES_KEPT)
def check_group(name: str) -> None:
    """Refuse a consumer group that no client may use.

    Raises:
        CallInvalid: the name is not valid, or a group of RocketMQ's own (`ILLEGAL_CONSUMER_GROUP`).
    """
    problem = names.group_name_error(name)
    if problem is not None:
        raise CallInvalid(Code.ILLEGAL_CONSUMER_GROUP, problem)
    if names.is_system_group(name):
        raise CallInvalid(Code.ILLEGAL_CONSUMER_GROUP, "cannot use system consumer group")


def check_tag(tag: str) -> None:
    """Refuse a tag that no subscription could name; an empty one is none.

    Raises:
        CallInvalid: with the code `ILLEGAL_MESSAGE_TAG`.
    """
    if "|" in tag:
        raise CallInvalid(Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain '|'")
    _check_text(Code.ILLEGAL_MESSAGE_TAG, "tag", tag)


def check_key(key: str) -> None:
    """Refuse a key that cannot be one in the list of keys.

    Raises:
        CallInvalid: with the code `ILLEGAL_MESSAGE_KEY`.
    """
    _check_text(Code.ILLEGAL_MESSAGE_KEY, "key", key)


def check_message_group(group: str, limits: CallLimits) -> None:
    """Refuse a message group that is too long.

    Raises:
        CallInvalid: with the code `ILLEGAL_MESSAGE_GROUP`.
    """
    _check_text(Code.ILLEGAL_MESSAGE_GROUP, "message group", group)
    most = limits.message_group_bytes
    if 0 < most <= len(group.encode()):
        raise CallInvalid(Code.ILLEGAL_MESSAGE_GROUP, f"message group exceeds the max size {most}")


def check_message_id(message_id: str) -> None:
    """Refuse a message id that is none.

    Raises:
        CallInvalid: with the code `ILLEGAL_MESSAGE_ID`.
    """
    if not message_id:
        raise CallInvalid(Code.ILLEGAL_MESSAGE_ID, "message id cannot be empty")
    _check_text(Code.ILLEGAL_MESSAGE_ID, "message id", message_id)


def check_transaction_id(transaction_id: str) -> None:
    """Refuse the end of a transaction that is not named.

    Raises:
        CallInvalid: with the code `INVALID_TRANSACTION_ID`.
    """
    if not transaction_id.strip():
        raise CallInvalid(Code.INVALID_TRANSACTION_ID, "transaction id cannot be blank")


def check_client_id(client_id: str) -> None:
    """Refuse a call of a client without a name, or with one that is too long to be kept.

    Raises:
        CallInvalid: with the code `CLIENT_ID_REQUIRED`, or `BAD_REQUEST`.
    """
    if not client_id.strip():
        raise CallInvalid(Code.CLIENT_ID_REQUIRED, "client id cannot be blank")
    if len(client_id) > names.MAX_CLIENT_ID_LENGTH:
        raise CallInvalid(Code.BAD_REQUEST, f"client id exceeds the max length {names.MAX_CLIENT_ID_LENGTH}")


def check_invisible_ms(ms: int, limits: CallLimits, *, least: int = 0) -> None:
    """Refuse an invisible time that is too short or too long.

    Raises:
        CallInvalid: with the code `ILLEGAL_INVISIBLE_TIME`.
    """
    if ms < least:
        raise CallInvalid(Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too small. min is {least}")
    if 0 < limits.most_invisible_ms < ms:
        most = limits.most_invisible_ms
        raise CallInvalid(Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too large. max is {most}")


def _check_text(code: Code, what: str, text: str) -> None:
    if text.isspace():
        raise CallInvalid(code, f"{what} cannot be blank")
    if has_control_characters(text):
        raise CallInvalid(code, f"{what} cannot contain control characters")
