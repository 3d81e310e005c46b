"""Properties of sends that make a broker act on more than the topic of the send.

A proxy decides about a send by its topic. Apache's brokers put a message into each queue that its property
INNER_MULTI_DISPATCH names as well (`enableMultiDispatch`), and cancel the timer message whose key its property
TIMER_DEL_UNIQKEY is, whatever the topic of that one. With TRAN_PREPARED_QUEUE_OFFSET a half message takes the outcome
of the one at that offset of the half messages' queue, so that another's transaction is checked again, and its message
stored twice. Clients of 4.4.0 to 5.5.0 set none of them: brokers do. A message that a consumer forwards may have the
last one, but is no half message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rocketwire.wire.batch import decode_batch
from rocketwire.wire.errors import BatchInvalid
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.properties import (
    INNER_MULTI_DISPATCH,
    ITEM_SEP,
    NAME_SEP,
    TIMER_DEL_UNIQ_KEY,
    TRANSACTION_PREPARED,
    TRANSACTION_PREPARED_QUEUE_OFFSET,
)

_NAMES: Final = (INNER_MULTI_DISPATCH, TIMER_DEL_UNIQ_KEY)
_PROPERTIES: Final[Mapping[int, tuple[str, str]]] = {
    RequestCode.SEND_MESSAGE: ("properties", "batch"),
    RequestCode.SEND_REPLY_MESSAGE: ("properties", "batch"),
    **dict.fromkeys(
        (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2), ("i", "m")
    ),
}
"""The fields of a header that have a message's properties, and whether the body is a batch. Replies are stored, too."""


def property_beyond_topic(code: int, ext: Mapping[str, str], body: memoryview) -> str | None:
    """The property of a send by which it would act on more than its topic; None: it has none.

    Args:
        code: The code of the request.
        ext: The fields of its header.
        body: Its body.
    """
    fields = _PROPERTIES.get(code)
    if fields is None:
        return None
    properties, batch = fields
    text = ext.get(properties, "")
    found = next((name for name in _NAMES if name in text and _has(text, name)), None)
    if TRANSACTION_PREPARED_QUEUE_OFFSET in text and _has(text, TRANSACTION_PREPARED):
        found = TRANSACTION_PREPARED_QUEUE_OFFSET
    if found is None and (code == RequestCode.SEND_BATCH_MESSAGE or ext.get(batch, "").lower() == "true"):
        return next(_in_batch(bytes(body)), None)
    return found


def _in_batch(body: bytes) -> Iterator[str]:
    names = [name for name in _NAMES if name.encode() in body]
    if not names:
        return
    try:
        texts = [each.properties.decode(errors="replace") for each in decode_batch(body)]
    except BatchInvalid:  # the broker may find messages in it nevertheless
        yield names[0]
        return
    yield from (name for name in names if any(_has(text, name) for text in texts))


def _has(text: str, name: str) -> bool:
    return any(item.startswith(name + NAME_SEP) for item in text.split(ITEM_SEP))
