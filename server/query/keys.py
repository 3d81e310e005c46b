"""Keys of queries."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import key


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryKeys:
    """The size of one answer."""

    default_query_max_num: int = key("most messages in one answer to a query", default=32, low=1, online=True)
