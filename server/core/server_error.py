"""The base class of all errors that refuse a request."""

from __future__ import annotations


class ServerError(Exception):
    """A request is refused; the text is the remark of the answer."""
