"""The client for asyncio and trio: the names and arguments of `rocketwire.remoting`, with `async with` and `await`.

Begin with `clients`; `runner` performs the steps of the core, `channel` is a connection.
May import: `core`; `wire`.
"""

from rocketwire.remoting.aio.clients import Producer, PullConsumer, PushConsumer

__all__ = ["Producer", "PullConsumer", "PushConsumer"]
