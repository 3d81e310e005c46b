"""Connections that wait at brokers for messages that their accounts may no longer have: they end when accounts change.

A broker holds a pull until messages come, as long as the client requests, and knows the proxy's account only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from rocketwire.server.acl.grants import HELD_CODES, Grant
from rocketwire.server.net.session import Session
from rocketwire.wire.header import Header

if TYPE_CHECKING:  # for annotations: it needs a YAML parser, imported only where access control is on
    from rocketwire.server.acl.control import AccessControl

_MOST: Final = 1024
"""So many grants of one connection are known: of groups and topics of which one client pulls."""
_LONGEST: Final = 1024
"""No request is held whose names have more characters together."""


class LongPollPermissions:
    """What the clients of one broker were let wait for.

    Args:
        access: Access control.
    """

    def __init__(self, access: AccessControl) -> None:
        self._access = access
        self._of_sessions: WeakKeyDictionary[Session, dict[object, Grant]] = WeakKeyDictionary()
        access.changed.subscribe(self._check_all)

    def note(self, session: Session, header: Header, body: memoryview) -> None:
        """Note a request that is admitted, if the broker may hold it."""
        if header.code not in HELD_CODES:
            return
        grant = self._access.grant(session, header, body)
        if grant is None:
            session.close()
        elif sum(map(len, grant.needed.resources)) <= _LONGEST:
            grants = self._of_sessions.setdefault(session, {})
            if len(grants) <= _MOST:  # one more shows that there were too many
                grants.setdefault(grant.key, grant)

    def _check_all(self) -> None:
        for session, grants in list(self._of_sessions.items()):
            remote = session.remote_text
            if len(grants) > _MOST or not all(self._access.is_still_granted(remote, each) for each in grants.values()):
                session.close()

    def end(self) -> None:
        """Check no more: the broker's port is closed."""
        self._access.changed.unsubscribe(self._check_all)
