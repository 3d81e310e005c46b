"""HTML elements; every text that goes into one is escaped, so that no client's or endpoint's text becomes markup."""

from __future__ import annotations

from html import escape
from typing import Final

from rocketwire.compat.report.plain import plain

_VOID: Final = frozenset({"br", "col", "input", "link", "meta"})


class Html(str):
    """Markup that is escaped already."""

    __slots__ = ()


def element(tag: str, /, *children: str, **attributes: str | float | bool | None) -> Html:
    """An element; children that are no `Html` are escaped.

    An attribute that is True stands without value, one that is None or False is omitted; in names `_` stands for `-`,
    and one at the end, as in `class_`, for nothing.
    """
    parts = [tag]
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(attribute)
        elif value is not None and value is not False:
            parts.append(f'{attribute}="{text(str(value))}"')
    start = f"<{' '.join(parts)}>"
    return Html(start) if tag in _VOID else Html(f"{start}{joined(*children)}</{tag}>")


def joined(*children: str) -> Html:
    """Markup and texts one after the other; a text is escaped."""
    return Html("".join(each if isinstance(each, Html) else text(each) for each in children))


def text(value: str) -> Html:
    """A text, escaped for content and attributes."""
    return Html(escape(plain(value)))


def hidden(value: str) -> Html:
    """A text for screen readers only."""
    return element("span", value, class_="vh")
