"""Grants of requests that take a while: whether their accounts may still send them after the accounts have changed."""

from __future__ import annotations

from hmac import compare_digest
from typing import TYPE_CHECKING, Final, NamedTuple

from rocketwire.server.acl.resources import NeededPermissions
from rocketwire.wire.facts.codes import RequestCode

if TYPE_CHECKING:
    from rocketwire.server.acl.accounts import Account

HELD_CODES: Final = frozenset(
    {
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.POP_MESSAGE,
        RequestCode.NOTIFICATION,
    }
)
"""Requests that a broker may answer much later: when messages come."""


class Grant(NamedTuple):
    """What an admitted request is about.

    Attributes:
        account: Whose it is; None: it came from an address that needs no account.
        near: Whether it came from an address from which the account needs no signature.
        code: Its code.
        needed: The permissions that it needs.
    """

    account: Account | None
    unsigned_allowed: bool
    code: int
    needed: NeededPermissions

    @property
    def key(self) -> tuple[str, bool, int, NeededPermissions]:
        """What distinguishes it from others of the same client."""
        return "" if self.account is None else self.account.access_key, self.unsigned_allowed, self.code, self.needed

    def signed_by(self, known: Account) -> bool:
        """Whether an account of the same name has the secret key with which the request was signed."""
        account = self.account
        if account is None or self.unsigned_allowed:
            return False
        return compare_digest(account.secret.sign(b""), known.secret.sign(b""))
