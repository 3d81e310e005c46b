"""The former name of `rocketwire.remoting.aio`, which serves trio as well as asyncio."""

from rocketwire.remoting.aio import Producer, PullConsumer, PushConsumer

__all__ = ["Producer", "PullConsumer", "PushConsumer"]
