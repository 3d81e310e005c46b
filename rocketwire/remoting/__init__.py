"""A client for RocketMQ endpoints, rocketwire's and Apache's, that blocks.

`rocketwire.remoting.aio` has one for asyncio and trio.

The names below are imported when they are used: the command line needs few of them, and starts quickly.

Begin with `core`; `clients` has the arguments of producers and consumers, `blocking` and `aio` run them; `cluster` is
what commands and Spark use.
May import: `store` and `wire`, and not `server`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rocketwire.remoting.blocking.clients import Producer, PullConsumer, PushConsumer
    from rocketwire.remoting.core.offsets import Begin
    from rocketwire.remoting.credentials import Credentials
    from rocketwire.remoting.errors import RemotingError
    from rocketwire.remoting.messages import Later, Message, Queue, ReceivedMessage, SendResult, SendStatus

__all__ = [
    "Begin",
    "Credentials",
    "Later",
    "Message",
    "Producer",
    "PullConsumer",
    "PushConsumer",
    "Queue",
    "ReceivedMessage",
    "RemotingError",
    "SendResult",
    "SendStatus",
]

_HOMES: Final = {
    "Begin": "core.offsets",
    "Credentials": "credentials",
    "Later": "messages",
    "Message": "messages",
    "Producer": "blocking.clients",
    "PullConsumer": "blocking.clients",
    "PushConsumer": "blocking.clients",
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
