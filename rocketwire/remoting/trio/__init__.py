"""The former name of `rocketwire.remoting.aio`, which serves trio as well as asyncio.

Begin with `rocketwire.remoting.aio`: this only imports it.
May import: `aio`.
"""

from rocketwire.remoting.aio import Producer, PullConsumer, PushConsumer

__all__ = ["Producer", "PullConsumer", "PushConsumer"]
