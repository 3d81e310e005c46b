"""The client for trio: the same names and arguments as in `rocketwire.remoting`, with `async with` and `await`."""

from rocketwire.remoting.trio.producer import Producer
from rocketwire.remoting.trio.pull_consumer import PullConsumer
from rocketwire.remoting.trio.push_consumer import PushConsumer

__all__ = ["Producer", "PullConsumer", "PushConsumer"]
