"""A topic's attributes, and the text that changes them.

``+name=value`` adds or changes one, ``-name`` removes one, with commas between; a new topic takes additions only. That
is 5.x's form, in the field ``attributes`` of UPDATE_AND_CREATE_TOPIC; 4.x clients have no such field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketwire.server.core.errors import AttributeRejected
from rocketwire.server.topics.message_types import MESSAGE_TYPE, MessageType

_TYPES: Final = tuple(map(str, MessageType))


def altered_attributes(current: Mapping[str, str] | None, text: str, *, new: bool) -> dict[str, str]:
    """The attributes after the changes in `text`; `current` are the topic's, `new`: the topic is being created.

    Raises:
        AttributeRejected: the text is malformed, names an unknown attribute, or gives it a bad value.
    """
    result = dict(current or {})
    seen: set[str] = set()
    for item in text.split(","):
        name, value = _change(item)
        if name in seen:
            raise AttributeRejected(f"key duplication: {name}")
        seen.add(name)
        if value is None and new:
            raise AttributeRejected(f"only add attribute is supported while creating topic. key: {name}")
        if value is None and name not in result:
            raise AttributeRejected(f"attempt to delete a nonexistent key: {name}")
        if name != MESSAGE_TYPE:
            raise AttributeRejected(f"unsupported key: {name}")
        if value is None:
            del result[name]
        elif value in _TYPES:
            result[name] = value
        else:
            raise AttributeRejected(f"value is not in set: {', '.join(_TYPES)}")
    return result


def _change(item: str) -> tuple[str, str | None]:
    """The name of one change, and the value to give; None: remove it."""
    name, equals, value = item.partition("=")
    if equals:
        if not name.startswith("+") or len(name) == 1:
            raise AttributeRejected(f"add/alter attribute format is wrong: {item}")
        return name[1:], value
    if not name.startswith("-") or len(name) == 1:
        raise AttributeRejected(f"delete attribute format is wrong: {item}")
    return name[1:], None
