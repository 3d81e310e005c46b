"""The client's errors; the text of each is one line for the user."""

from __future__ import annotations

from typing import Final

_ACL_EXCEPTION: Final = "org.apache.rocketmq.acl.common.AclException"


class RemotingError(Exception):
    """Base of the client's errors."""


class NameServersInvalid(RemotingError):
    """The text of the name servers' addresses is invalid."""

    def __init__(self, text: str, allowed: str) -> None:
        """Take the text as it was given, and what is allowed."""
        super().__init__(f"namesrv {text}: {allowed}")


class NotReached(RemotingError):
    """No answer from an address, or not in time, or not in RocketMQ's protocol.

    Attributes:
        parts: The peer, as `broker 127.0.0.1:10911`, and what happened.
    """

    def __init__(self, what: str, reason: str) -> None:
        """Take the peer and what happened."""
        super().__init__(f"{what}: {reason}")
        self.parts = (what, reason)


class Refused(RemotingError):
    """The peer answered with an error.

    Attributes:
        code: The response code.
        remark: The answer's remark.
    """

    def __init__(self, what: str, code: int, remark: str | None) -> None:
        """Take the peer, the response code and the remark."""
        lines = (remark or "").strip().splitlines() or ["no remark"]
        super().__init__(f"{what} answered code {code}: {lines[0]}")
        self.code = code
        self.remark = remark


class AccessDenied(Refused):
    """Access control rejects a request.

    Attributes:
        unsigned: Whether the reason is that the request names no account.
    """

    def __init__(self, what: str, code: int, remark: str) -> None:
        """Take the peer, the response code and the remark."""
        super().__init__(what, code, remark)
        words = remark.partition(_ACL_EXCEPTION)[2].lstrip(": ").splitlines() or ["no remark"]
        self.args = (f"{what} refuses access: {words[0]}",)
        self.unsigned = words[0].startswith("No accessKey is configured")


def refusal(what: str, code: int, remark: str | None) -> Refused:
    """The error for an answer that is not a success: of access control, or any other."""
    if remark is not None and _ACL_EXCEPTION in remark:
        return AccessDenied(what, code, remark)
    return Refused(what, code, remark)


class NoSuchTopic(RemotingError):
    """The name server has no route for a topic.

    Attributes:
        topic: Its name.
    """

    def __init__(self, topic: str, name_server: str) -> None:
        """Take the topic and the name server's address."""
        super().__init__(f"topic {topic}: the name server {name_server} knows no such topic")
        self.topic = topic


class NoBroker(RemotingError):
    """No broker, or none of a name, is registered at a name server."""

    def __init__(self, name_server: str, name: str | None = None) -> None:
        """Take the peer, and the broker's name if it was about one."""
        super().__init__(f"{name_server}: no broker {'is' if name is None else f'{name} is'} registered there")


class MessageInvalid(RemotingError, ValueError):
    """A message cannot be sent as it is: no request was made."""


class SubscriptionInvalid(RemotingError, ValueError):
    """A subscription, or a queue that was named, is not one."""


class ClientClosed(RemotingError):
    """The producer or consumer is closed, or not opened yet."""

    def __init__(self) -> None:
        """Use a fixed text."""
        super().__init__("the client is not open: use it inside its `with` block")


def reason(error: OSError | UnicodeError) -> str:
    """What happened to a connection, in words."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, UnicodeError):
        return "not a host name"
    return error.strerror or str(error)
