"""Errors of what protects the endpoint: quotas, access control, limits. Codes: `server.core.errors`."""

from __future__ import annotations

from typing import Final

from rocketwire.server.core.server_error import ServerError

ITEMS: Final = "headerItems"
MOST_ITEMS: Final = 8192
"""The most items of a list in one string: tags of a filter, permissions of an account, addresses."""


class FrameRefused(ServerError):
    """A frame is longer than a limit allows; `key` names it."""

    def __init__(self, size: int, key: str, most: int) -> None:
        super().__init__(f"[REJECTREQUEST]frame of {size} bytes is too long, {key}={most}")
        self.key = key


class LimitExceeded(ServerError):
    """A client wants more than one of the limits of docs/limits.md allows; `key` names it."""

    def __init__(self, key: str, most: int) -> None:
        super().__init__(f"[REJECTREQUEST]system busy, start flow control for a while, {key}={most}")
        self.key = key


class CallTooLarge(LimitExceeded):
    """A request of a call has more than `most` of something; the same request is refused whenever it comes."""

    def __init__(self, key: str, most: int, what: str) -> None:
        super().__init__(key, most)
        self.args = (f"[REJECTREQUEST]more than {most} {what}, {key}={most}",)


class AccessRefused(ServerError):
    """Access control refuses a request; the words after the class name are Apache's."""

    def __init__(self, words: str) -> None:
        super().__init__(f"org.apache.rocketmq.acl.common.AclException: {words}")


class AccessOpen(ServerError):
    """A request about accounts, while access control is off."""

    def __init__(self) -> None:
        super().__init__("access control is off: aclEnable is false")


class AccountNotUpdated(ServerError):
    """An account cannot be created or changed as requested."""


class AccountNotDeleted(ServerError):
    """An account cannot be deleted."""

    def __init__(self, access_key: str | None) -> None:
        name = "null" if access_key is None else access_key
        super().__init__(f"The accesskey[{name}] corresponding to accessConfig has been deleted failed.")


class AddressesNotUpdated(ServerError):
    """The white list of addresses that need no account cannot be set as requested."""

    def __init__(self, addresses: str) -> None:
        super().__init__(f"The globalWhiteAddresses[{addresses}] has been updated failed.")


class OnlyRead(ServerError):
    """A request that changes something, where nothing may be changed."""

    def __init__(self) -> None:
        super().__init__("nothing may be changed through this proxy, which is read-only")


class NotThroughProxy(ServerError):
    """A request of a code about which the access control of a proxy decides nothing."""

    def __init__(self, code: int) -> None:
        super().__init__(f"not allowed through the proxy: request code {code}")


class QuotaExceeded(ServerError):
    """A send or receive that is over its quota; the text is that of the configured wording."""
