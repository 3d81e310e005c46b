"""Use of topics: sends and pulls that a proxy admits, counted by account and topic.

They are counted where frames are parsed anyway, for accounts, quotas or signatures: for the numbers alone no frame
leaves the kernel's thread. Clients choose the names of accounts and topics, so only some thousand pairs have separate
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from rocketwire.server.core.request import CallSignature, Peer, account_named_by
from rocketwire.server.proxy.sends import PULLS, SENDS
from rocketwire.wire.header import Header

MOST_PAIRS: Final = 2000
OTHERS: Final = "(others)"
SEND: Final = "send"
PULL: Final = "pull"
_KINDS: Final[Mapping[int, tuple[str, str]]] = {
    **{code: (SEND, fields.topic) for code, fields in SENDS.items()},
    **dict.fromkeys(PULLS, (PULL, "topic")),
}
"""What is counted, and the field with the topic."""


class AccountUsage(NamedTuple):
    """What an account did with a topic: the account, the topic, what, how often, and the bytes of the bodies."""

    account: str
    topic: str
    kind: str
    requests: int
    size: int


class UsageMeter:
    """The last of the guards: it counts what the others have admitted, and refuses nothing.

    Args:
        looks: Whether requests are parsed anyway.
        accounts: Whether accounts are checked; if not, none is counted.
    """

    def __init__(self, looks: Callable[[], bool], *, accounts: bool) -> None:
        self._looks = looks
        self._accounts = accounts
        self._used: dict[tuple[str, str, str], list[int]] = {}

    @property
    def active(self) -> bool:
        """Whether requests are counted."""
        return self._looks()

    def admit(self, peer: Peer, header: Header, body: memoryview, proof: CallSignature | None = None) -> None:
        """Count a request, if it is a send or a pull."""
        del peer
        known = _KINDS.get(header.code)
        if known is None:
            return
        kind, field = known
        ext = header.ext or {}
        account = account_named_by(header, proof) if self._accounts else ""
        key = (account, ext.get(field, ""), kind)
        counts = self._used.get(key)
        if counts is None:
            if len(self._used) >= MOST_PAIRS:
                key = (OTHERS, OTHERS, kind)
            counts = self._used.setdefault(key, [0, 0])
        counts[0] += 1
        counts[1] += len(body)

    def used(self) -> Iterator[AccountUsage]:
        """All counts."""
        for (account, topic, kind), (requests, size) in self._used.items():
            yield AccountUsage(account, topic, kind, requests, size)
