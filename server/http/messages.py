"""The request that an HTTP handler receives and the response that it returns."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A whole request.

    Attributes:
        method: GET, POST and so on; HEAD comes as GET, and the answer's body is omitted.
        path: Without the query, percent signs decoded.
        parameters: The query's, the last of each name.
        headers: By lower-case name, the last of each.
        body: At most `connection.LARGEST_BODY` bytes.
    """

    method: str
    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """A response; `headers` are those in addition to type, length and date."""

    status: int = 200
    body: bytes = b""
    content_type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()


Handler = Callable[[HttpRequest], Awaitable[HttpResponse]]
Routes = Mapping[tuple[str, str], Handler]
"""By method and path."""


def text_response(text: str, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> HttpResponse:
    """Lines of text; the final line end is added."""
    return HttpResponse(status=status, body=f"{text}\n".encode(), headers=headers)


def json_response(value: object, *, status: int = 200) -> HttpResponse:
    """A JSON value and a line end."""
    return HttpResponse(status=status, body=f"{json.dumps(value, indent=2)}\n".encode(), content_type=JSON)
