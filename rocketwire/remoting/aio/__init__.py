"""The client for asyncio and trio: the names and arguments of `rocketwire.remoting`, with `async with` and `await`."""

from rocketwire.remoting.aio.producer import Producer
from rocketwire.remoting.aio.pull_consumer import PullConsumer
from rocketwire.remoting.aio.push_consumer import PushConsumer

__all__ = ["Producer", "PullConsumer", "PushConsumer"]
