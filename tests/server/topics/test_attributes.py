from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.core.errors import AttributeRejected
from rocketwire.server.topics.attributes import altered_attributes
from rocketwire.server.topics.message_types import MessageType

FIFO = {"message.type": "FIFO"}


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("kind", MessageType)
def test_an_attribute_is_added_or_changed(kind: str, new: bool) -> None:
    before = None if new else FIFO
    assert altered_attributes(before, f"+message.type={kind}", new=new) == {"message.type": kind}
    assert FIFO == {"message.type": "FIFO"}


def test_a_removed_attribute_leaves_the_others() -> None:
    others = {"cleanup.policy": "DELETE"}
    assert altered_attributes({**FIFO, **others}, "-message.type", new=False) == others


@pytest.mark.parametrize(
    ("before", "text", "problem"),
    [
        (None, "", "delete attribute format is wrong: "),
        (None, "message.type", "delete attribute format is wrong: message.type"),
        (None, "message.type=FIFO", "add/alter attribute format is wrong: message.type=FIFO"),
        (None, "+=FIFO", r"add/alter attribute format is wrong: \+=FIFO"),
        (FIFO, "-", "delete attribute format is wrong: -"),
        (FIFO, "-message.type=FIFO", "add/alter attribute format is wrong: -message.type=FIFO"),
        (FIFO, "+message.type=FIFO,-message.type", "key duplication: message.type"),
        (None, "-message.type", "only add attribute is supported while creating topic. key: message.type"),
        ({}, "-message.type", "attempt to delete a nonexistent key: message.type"),
        (FIFO, "+queue.type=BatchCQ", "unsupported key: queue.type"),
        ({"queue.type": "BatchCQ"}, "-queue.type", "unsupported key: queue.type"),
        (FIFO, "+message.type=", "value is not in set: UNSPECIFIED, NORMAL"),
        (FIFO, "+message.type=fifo", "value is not in set: UNSPECIFIED, NORMAL"),
    ],
)
def test_malformed_changes_are_refused(before: dict[str, str] | None, text: str, problem: str) -> None:
    with pytest.raises(AttributeRejected, match=problem):
        altered_attributes(before, text, new=before is None)


@given(
    st.text(alphabet="+-=,message.typeFIFO")
    | st.lists(st.sampled_from(["+message.type=FIFO", "-message.type", "-", ","])).map(",".join),
    st.sampled_from([None, {}, FIFO]),
    st.booleans(),
)
def test_any_text_gives_attributes_or_an_error(text: str, before: dict[str, str] | None, new: bool) -> None:
    try:
        found = altered_attributes(before, text, new=new)
    except AttributeRejected:
        return
    assert set(found) <= {"message.type"}
    assert set(found.values()) <= set(MessageType)
