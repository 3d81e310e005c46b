"""The client for trio: the same names and arguments as in `rocketwire.remoting`, with `async with` and `await`."""

from rocketwire.remoting.trio.producer import Producer

__all__ = ["Producer"]
