"""What is stored of a message that is redelivered: it was popped and not acknowledged in time."""

from __future__ import annotations

from typing import Final

from rocketwire.server.messages.stored_message import StoredMessage
from rocketwire.store.append.drafts import Draft
from rocketwire.store.records.lost_pages import guard_against_lost_pages
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.java import to_int32
from rocketwire.wire.pop_records import CheckPoint
from rocketwire.wire.properties import property_value
from rocketwire.wire.property_edits import set_properties
from rocketwire.wire.stored_properties import tags_code

_QUEUE: Final = 0
_FIRST_POP_TIME: Final = property_names.FIRST_POP_TIME.encode()
_ORIGIN_GROUP: Final = property_names.ORIGIN_GROUP.encode()
_TAGS: Final = property_names.TAGS.encode()
_KEYS: Final = property_names.KEYS.encode()
_UNIQ_KEY: Final = property_names.UNIQ_KEY.encode()


def retry_draft(message: StoredMessage, point: CheckPoint, topic: str, host: bytes) -> Draft | None:
    """The draft of a message for a retry topic, as Apache 5.5.0 makes it.

    None: its properties cannot be stored with the two that say when and by whom it was popped.

    Args:
        message: The message.
        point: The check point of the pop.
        topic: The retry topic.
        host: The broker's address: the message now comes from there.
    """
    text = message.properties
    items = [(_ORIGIN_GROUP, point.group.encode())]
    if not message.reconsume_times or property_value(text, _FIRST_POP_TIME) is None:
        items.insert(0, (_FIRST_POP_TIME, b"%d" % point.pop_time))
    text = set_properties(text, items)
    if 0 in text:
        found = guard_against_lost_pages(text)
        if found is None:
            return None
        text = found
    if len(text) > MAX_PROPERTIES_LENGTH:
        return None
    tags, unique_key, keys = (_text(text, name) for name in (_TAGS, _UNIQ_KEY, _KEYS))
    draft = message.draft_with(topic, _QUEUE, text, tags_code(tags), unique_key, keys)
    draft.born_host = host
    if not point.suspend:
        draft.reconsume_times = to_int32(draft.reconsume_times + 1)
    return draft


def _text(properties: bytes, name: bytes) -> str | None:
    value = property_value(properties, name)
    return None if value is None else str(value, "utf-8", "replace")
