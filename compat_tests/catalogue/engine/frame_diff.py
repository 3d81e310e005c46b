"""Where the answers of an endpoint differ from those of the reference in the same scenario.

Theory: threads of a client send requests in an order that changes from run to run. So answers are paired by their
request's code, topic and group, the first with the first, and compared field by field with the masks of replays (times,
ids, addresses). How often a client pulls or sends a heartbeat depends on time, so only of other requests a missing
answer counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Final, TypeAlias

from rocketwire.capture.contents.frames import RecordedFrame
from rocketwire.capture.contents.shown import Item
from rocketwire.capture.replay.compare import differences
from rocketwire.compat.engine.recording import summary
from rocketwire.compat.results import Difference
from rocketwire.wire.facts.codes import RequestCode

_MOST: Final = 40  # differences that are listed
_LONGEST: Final = 500  # characters of a value
_BY_THE_CLOCK: Final = frozenset(
    {
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.HEART_BEAT,
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.UNLOCK_BATCH_MQ,
        RequestCode.UPDATE_CONSUMER_OFFSET,
        RequestCode.QUERY_CONSUMER_OFFSET,
        RequestCode.GET_MAX_OFFSET,
        RequestCode.GET_MIN_OFFSET,
        RequestCode.QUERY_MESSAGE,
    }
)
_Key: TypeAlias = tuple[int, str, str]


def frame_diff(expected: Iterable[Item], actual: Iterable[Item]) -> tuple[Difference, ...]:
    """The differences between the answers of the reference and of the endpoint, of many the first."""
    found = []
    for difference in _all(_answers(expected), _answers(actual)):
        found.append(difference)
        if len(found) == _MOST:
            break
    return tuple(found)


def _answers(items: Iterable[Item]) -> dict[_Key, list[Item]]:
    found: dict[_Key, list[Item]] = defaultdict(list)
    for item in items:
        event = item.event
        if isinstance(event, RecordedFrame) and event.header.is_response and event.request is not None:
            found[event.code, item.topic, item.group].append(item)
    return found


def _all(expected: dict[_Key, list[Item]], actual: dict[_Key, list[Item]]) -> Iterator[Difference]:
    for key in (*expected, *(key for key in actual if key not in expected)):
        for one, other in zip_longest(expected.get(key, ()), actual.get(key, ())):
            if one is None or other is None:
                if key[0] not in _BY_THE_CLOCK:
                    sides = (None if each is None else summary(each) for each in (one, other))
                    expects, has = sides
                    yield Difference(expected=expects, actual=has, where=f"{(one or other).what}: an answer is missing")
                continue
            assert isinstance(one.event, RecordedFrame)
            assert isinstance(other.event, RecordedFrame)
            for each in differences(one.event, other.event.header, other.event.body):
                yield Difference(
                    expected=_text(each.recorded), actual=_text(each.replayed), where=f"{summary(other)}: {each.field}"
                )


def _text(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
