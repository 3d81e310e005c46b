"""The place of `rocketwire.wire.facts.codes` until 0.1.0."""

from rocketwire.wire.facts.codes import *  # noqa: F403
