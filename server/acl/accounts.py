"""Accounts: the file's entries, checked, and the decision what an account may do.

Reasons for refusals come in Apache's order: requests for administrators first, then the permissions in the order of a
Java map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rocketwire.server.acl.access_rules import ADMIN_CODES, CODES_UNPROTECTED_BY_APACHE
from rocketwire.server.acl.message_owner import HOLDING_TOPICS
from rocketwire.server.acl.resources import DENY, SUB, NeededPermissions, allows, assignment, parse_permissions
from rocketwire.server.acl.white_list import Matches, white_list
from rocketwire.wire.bodies.acl import PlainAccessConfig
from rocketwire.wire.java import hash_map_order
from rocketwire.wire.names import (
    DEAD_LETTER_PREFIX,
    LIGHT_QUEUE_PREFIX,
    REGION_TRACE_PREFIX,
    RETRY_PREFIX,
    SYSTEM_TOPIC_PREFIX,
    retry_topic,
)
from rocketwire.wire.signature import SecretKey

LEAST_LENGTH: Final = 7
"""The least length of an access key and of a secret key, in characters."""


class AccountInvalid(Exception):
    """An account cannot be used; the message has the reason, and never contains the secret key."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key
        """The setting of the file that is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One account.

    Attributes:
        access_key: Its name.
        secret: The key that signs its requests.
        matches: Matches the addresses that need no signature; None: none.
        admin: Whether it may send `ADMIN_CODES`, and everything else if it lists no permissions.
        topic_default: Permission for topics that are not in `permissions`.
        group_default: The same for groups.
        permissions: Permissions by topic, and by the retry topic of a group.
    """

    access_key: str
    secret: SecretKey = field(repr=False)
    matches: Matches | None
    admin: bool
    topic_default: int
    group_default: int
    permissions: Mapping[str, int]

    def is_near(self, address: str) -> bool:
        """Whether requests from that address need no signature."""
        return self.matches is not None and self.matches(address)

    def may_send_code(self, code: int) -> bool:
        """Whether it may send the code, if that is for administrators only."""
        return self.admin or code not in ADMIN_CODES

    def may_all(self, code: int) -> bool:
        """Whether its requests of that code need no permissions."""
        return self._unlimited or (self.admin and code in CODES_UNPROTECTED_BY_APACHE)

    def lacks(self, needed: NeededPermissions, reply_topic: str | None = None) -> str | None:
        """The first topic or group that it has no permission for; None: it has all permissions needed.

        `reply_topic` is the topic of the replies to requests, whatever their topic.
        """
        permission, resources = needed
        if self._unlimited:
            return None
        lacking = [resource for resource in resources if not self._may(permission, resource, reply_topic)]
        if not lacking:
            return None
        return next(resource for resource in hash_map_order(resources) if resource in lacking)

    @property
    def _unlimited(self) -> bool:
        return self.admin and not self.permissions

    def _may(self, permission: int, resource: str, reply_topic: str | None) -> bool:
        owned = self.permissions.get(resource)
        if owned is None and resource.startswith(DEAD_LETTER_PREFIX):
            # The permissions of the group, which puts messages there.
            permission, resource = SUB, retry_topic(resource.removeprefix(DEAD_LETTER_PREFIX))
            owned = self.permissions.get(resource)
        if owned is None:
            owned = DENY if resource == reply_topic else self._default(resource)
        return allows(owned, permission)

    def _default(self, resource: str) -> int:
        if resource.startswith(RETRY_PREFIX):
            return self.group_default
        return DENY if _is_internal(resource) else self.topic_default


def _is_internal(topic: str) -> bool:
    """Whether a topic holds messages of all topics, or what brokers write for themselves: 5.x takes sends to some."""
    if topic.startswith(REGION_TRACE_PREFIX):
        return False
    return topic in HOLDING_TOPICS or topic.startswith((LIGHT_QUEUE_PREFIX, SYSTEM_TOPIC_PREFIX))


def account(config: PlainAccessConfig) -> Account:
    """Make an account from an entry of the file.

    Raises:
        AccountInvalid: a key is too short, or an address or a permission is invalid.
        WhiteListInvalid: an address is invalid.
    """
    access_key, secret_key = config.access_key, config.secret_key
    if access_key is None or secret_key is None or min(len(access_key), len(secret_key)) < LEAST_LENGTH:
        shown = "null" if secret_key is None else "***"  # Apache shows it
        wrong = "accessKey" if access_key is None or len(access_key) < LEAST_LENGTH else "secretKey"
        raise AccountInvalid(
            wrong,
            f"The accessKey={'null' if access_key is None else access_key} and secretKey={shown} "
            "cannot be null and length should longer than 6",
        )
    owned: dict[str, int] = {}
    for text in config.group_perms or ():
        name, bits = _permission(text, "group")
        owned[retry_topic(name)] = bits
    for text in config.topic_perms or ():
        name, bits = _permission(text, "topic")
        owned[name] = bits
    return Account(
        access_key=access_key,
        secret=SecretKey(secret_key),
        matches=white_list(config.white_remote_address or ""),
        admin=config.admin,
        topic_default=parse_permissions(config.default_topic_perm),
        group_default=parse_permissions(config.default_group_perm),
        permissions=owned,
    )


def _permission(text: str, kind: str) -> tuple[str, int]:
    found = assignment(text)
    if found is None:
        raise AccountInvalid(f"{kind}Perms", f"Parse resource permission failed for {kind}:{text}")
    return found[0], parse_permissions(found[1])


def check_permissions(texts: tuple[str, ...] | None) -> None:
    """Check permissions before they are written to the file: stricter than for reading it.

    Raises:
        AccountInvalid: one is not `NAME=PERMISSION`, or the permission is unknown.
    """
    for text in texts or ():
        found = assignment(text)
        if found is None:
            raise AccountInvalid(
                "perms",
                f"Parse Resource format error for {text}.\n"
                "The expected resource format is 'Res=Perm'. For example: topicA=SUB",
            )
        if found[1] != "DENY" and parse_permissions(found[1]) == DENY:
            raise AccountInvalid(
                "perms",
                f"Parse resource permission error for {text}.\n"
                "The expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'.",
            )


UNKNOWN_ACCOUNT_SECRET: Final = SecretKey("of no account")
"""The key for requests of unknown accounts, so that checking them takes as long as for known accounts."""
