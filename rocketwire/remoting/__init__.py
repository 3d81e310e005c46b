"""A client for RocketMQ endpoints, rocketwire's and Apache's, that blocks; `rocketwire.remoting.trio` has one for trio.

The names below are imported when they are used: the command line needs few of them, and starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rocketwire.remoting.blocking.producer import Producer
    from rocketwire.remoting.credentials import Credentials
    from rocketwire.remoting.errors import RemotingError
    from rocketwire.remoting.messages import Later, Message, Queue, ReceivedMessage, SendResult, SendStatus

__all__ = [
    "Credentials",
    "Later",
    "Message",
    "Producer",
    "Queue",
    "ReceivedMessage",
    "RemotingError",
    "SendResult",
    "SendStatus",
]

_HOMES: Final = {
    "Credentials": "credentials",
    "Later": "messages",
    "Message": "messages",
    "Producer": "blocking.producer",
    "Queue": "messages",
    "ReceivedMessage": "messages",
    "RemotingError": "errors",
    "SendResult": "messages",
    "SendStatus": "messages",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class, whichever it is
    """Import a name at its first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
