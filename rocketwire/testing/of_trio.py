"""The place of `rocketwire.testing.aio` until 0.1.0."""

from rocketwire.testing.aio import *  # noqa: F403
