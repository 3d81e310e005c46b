"""What two answers to the same request may differ in: times, ids, addresses and places in the log.

A field is masked by its name, or parts of its text by their form. Only that it is there is compared then.
"""

from __future__ import annotations

import re
from typing import Any, Final

TIMES: Final = re.compile(r"(time|timestamp)(millis|ms)?$", re.IGNORECASE)
"""Names of times."""
IDS: Final = re.compile(
    r"^(msgId|offsetMsgId|transactionId|recallHandle|physicalOffset|commitLogOffset|preparedTransactionOffset"
    r"|indexLastUpdatePhyoffset|ORIGIN_MESSAGE_ID)$"
)
"""Names of ids that a broker makes, and of places in its log, which some of them consist of."""
ADDRESSES: Final = re.compile(r"^(bornHost|storeHost|brokerAddr|brokerAddrs|addr|clientAddr|listenPort|haListenPort)$")
"""Names of addresses, and of objects of them."""
VERSIONS: Final = re.compile("^dataVersion$")
"""Names of versions of tables, which consist of a time and a count of changes."""

_TEXTS: Final = (
    (re.compile(r"(\d{1,3}\.){3}\d{1,3}:\d{1,5}|\[[0-9a-fA-F:.]+\]:\d{1,5}"), "<address>"),
    (re.compile(r"\b1[5-9]\d{11}\b"), "<time>"),
    (re.compile(r"\b(19|20)\d\d-\d\d-\d\d[ T#]\d\d:\d\d:\d\d([.,:]\d+)?"), "<time>"),
)
_BY_NAME: Final = ((TIMES, "<time>"), (IDS, "<id>"), (ADDRESSES, "<address>"), (VERSIONS, "<version>"))
_AS_SENT: Final = frozenset({"body", "properties"})
"""Members of message records, which applications made; texts in them are compared as they are."""


def masked(value: Any, *, of_message: bool = False) -> Any:  # noqa: ANN401 - whatever JSON can say
    """A value with masks; lists of JSON get an order, since RocketMQ's are mostly sets.

    Args:
        value: What a body or the extension fields say.
        of_message: Whether it is a list of message records, whose order counts.
    """
    if isinstance(value, dict):
        return {str(name): _member(str(name), item, of_message=of_message) for name, item in value.items()}
    if isinstance(value, list):
        items = [masked(item, of_message=of_message) for item in value]
        return items if of_message else sorted(items, key=repr)
    return masked_text(value) if isinstance(value, str) else value


def _member(name: str, item: Any, *, of_message: bool) -> Any:  # noqa: ANN401 - JSON
    for pattern, mask in _BY_NAME:
        if pattern.search(name):
            return mask
    if of_message and name in _AS_SENT:
        return (
            {key: _member(key, each, of_message=False) for key, each in item.items()} if name == "properties" else item
        )
    return masked(item, of_message=of_message)


def masked_text(text: str) -> str:
    """A text with masks for the addresses and times in it."""
    for pattern, mask in _TEXTS:
        text = pattern.sub(mask, text)
    return text
