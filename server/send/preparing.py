"""Preparing sends: quotas are checked, and `send.drafts` makes what is to be stored."""

from __future__ import annotations

from rocketwire.server.core.metrics import SEND
from rocketwire.server.send.drafts import PreparedSend, SendDrafts
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.wire.headers.send import SendMessageRequestHeader


class SendPreparer:
    """Prepares sends.

    Attributes:
        drafts: Makes drafts of sends.
        throttle: Says whether a send is within its quotas.
    """

    def __init__(self, drafts: SendDrafts, throttle: Throttle) -> None:
        self.drafts = drafts
        self.throttle = throttle

    def prepare(
        self, fields: SendMessageRequestHeader, body: memoryview, born_host: bytes, remote: str, account: str = ""
    ) -> PreparedSend | None:
        """Check a send and make its drafts; None: it is over a quota, and refused with `throttle.send_remark`.

        Quotas are checked first, so that refused sends are cheap.

        Raises:
            ServerError: the send is refused; nothing was stored.
            WireError: its body or its flags cannot be read.
        """
        throttle = self.throttle
        gate = throttle.send(fields.topic, fields.producer_group, account) if throttle.sends else None
        if gate is not None and not throttle.passes(SEND, gate):
            return None
        make = self.drafts.batch if fields.batch else self.drafts.message
        prepared = make(fields, body, born_host, remote)
        if gate is not None:
            throttle.sent(gate, prepared.drafts)
        return prepared
