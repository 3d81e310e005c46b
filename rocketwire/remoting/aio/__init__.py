"""The client for asyncio and trio: the names and arguments of `rocketwire.remoting`, with `async with` and `await`.

Begin with `producer`; `runner` performs the steps of the core, `channel` is a connection.
May import: `core`; `wire`.
"""

from rocketwire.remoting.aio.producer import Producer
from rocketwire.remoting.aio.pull_consumer import PullConsumer
from rocketwire.remoting.aio.push_consumer import PushConsumer

__all__ = ["Producer", "PullConsumer", "PushConsumer"]
