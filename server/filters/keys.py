"""Keys of message filters."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import key


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterKeys:
    """Whether SQL92 expressions are accepted, and to what they apply."""

    enable_property_filter: bool = key("consumers may filter by SQL92 expressions", default=True, online=True)
    filter_support_retry: bool = key(
        "apply the SQL92 filter of the original topic to retried messages, too", default=False, online=True
    )
