"""What all errors have in common that a request is refused with."""

from __future__ import annotations


class ServerError(Exception):
    """A request that is refused; the text is the remark of the answer."""
