"""Why a request to another server has no answer."""

from __future__ import annotations


class UpstreamUnreachable(Exception):
    """The other server cannot be reached, does not answer, or does not speak the protocol."""


class RequestNotSent(UpstreamUnreachable):
    """The request was not sent: nothing came of it."""
