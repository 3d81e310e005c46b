"""When timer messages are due, and how they wait; 5.5.0's answers are of a real broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import MessageIllegal, TimerDisabled, response_code
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.timer.sends import (
    TimerSends,
    may_have_a_time,
    time_property,
    was_delivered,
    without_times,
)
from rocketwire.store.append.drafts import Draft
from rocketwire.store.timer.units import out_time
from rocketwire.wire.properties import property_value
from rocketwire.wire.recall_handle import decode_recall_handle
from tests.server.harness import NOW, properties_text
from tests.server.send_setup import HOST, Setup, body, fields

DAY = 86_400_000


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setup]:
    made = Setup(tmp_path_factory.mktemp("sends"))
    yield made
    made.store.close()


@pytest.fixture
def timers(setup: Setup) -> TimerSends:
    return TimerSends(setup.live[TimerKeys], setup.live[BrokerKeys], setup.topics, setup.clock)


def draft_of(properties: str, topic: str = "T", key: str | None = "U") -> Draft:
    return Draft(topic, 1, b"body", properties.encode(), 0, 0, NOW, HOST, 0, 0, 0, key, None)


def scheduled(timers: TimerSends, **properties: str) -> Draft:
    text = properties_text(**properties)
    draft = draft_of("a\x01b")
    timers.schedule(draft, text, b"")
    return draft


def out_ms_of(draft: Draft) -> int | None:
    text = property_value(draft.properties, b"TIMER_OUT_MS")
    return None if text is None else int(text)


@pytest.mark.parametrize(
    ("properties", "due"),
    [
        ({"TIMER_DELAY_SEC": "3"}, NOW + 3000),
        ({"TIMER_DELAY_SEC": "+3"}, NOW + 3000),
        ({"TIMER_DELAY_SEC": "٣"}, NOW + 3000),
        ({"TIMER_DELAY_MS": "1"}, NOW + 1),
        ({"TIMER_DELIVER_MS": str(NOW + 5)}, NOW + 5),
        ({"__STARTDELIVERTIME": str(NOW + 5)}, NOW + 5),
        ({"TIMER_DELAY_SEC": "3456000"}, NOW + 40 * DAY),
        ({"TIMER_DELIVER_MS": str(NOW + 40 * DAY)}, NOW + 40 * DAY),
        ({"__STARTDELIVERTIME": "5", "TIMER_DELIVER_MS": "x", "TIMER_DELAY_MS": "7"}, NOW + 7),
        ({"TIMER_DELIVER_MS": "x", "TIMER_DELAY_MS": "x", "TIMER_DELAY_SEC": "1"}, NOW + 1000),
        ({"__STARTDELIVERTIME": "x", "TIMER_DELIVER_MS": str(NOW + 9)}, NOW + 9),
        ({"TIMER_DEL_UNIQKEY": "U", "TIMER_DELAY_MS": "7"}, NOW + 7),
        ({"TIMER_DELAY_MS": "0"}, None),
        ({"TIMER_DELIVER_MS": "0"}, None),
        ({"TIMER_DELIVER_MS": str(NOW)}, None),
        ({"__STARTDELIVERTIME": str(NOW - 1)}, None),
        ({"TIMER_DEL_UNIQKEY": "U"}, None),
        ({"TIMER_DEL_UNIQKEY": "U", "DELAY": "0"}, None),
    ],
    ids=str,
)
def test_the_time_is_computed_as_by_apache(timers: TimerSends, properties: dict[str, str], due: int | None) -> None:
    draft = scheduled(timers, **properties)
    if due is None:
        assert (draft.topic, draft.queue_id, draft.properties) == ("T", 1, b"a\x01b")
    else:
        assert out_ms_of(draft) == out_time(due)
        assert (draft.topic, draft.queue_id) == ("rmq_sys_wheel_timer", 0)
        assert draft.properties.endswith(b"\x02REAL_TOPIC\x01T\x02REAL_QID\x011")


@pytest.mark.parametrize(
    "properties",
    [
        {"TIMER_DELAY_SEC": "-5"},
        {"TIMER_DELAY_SEC": "3456001"},
        {"TIMER_DELAY_MS": "3456000001"},
        {"TIMER_DELAY_SEC": "9" * 19},
        {"TIMER_DELAY_MS": "9" * 30_000},
        {"TIMER_DELIVER_MS": str(NOW + 40 * DAY + 1)},
        {"TIMER_DELIVER_MS": "-1"},
        {"TIMER_DELIVER_MS": "9223372036854775807"},
        {"TIMER_DELIVER_MS": "soon"},
        {"TIMER_DELIVER_MS": "1_0"},
        {"TIMER_DELIVER_MS": "²"},
        {"TIMER_DELIVER_MS": "+"},
        {"__STARTDELIVERTIME": " 5"},
        {"TIMER_DELAY_SEC": "x", "TIMER_DELAY_MS": "7"},
        {"TIMER_DEL_UNIQKEY": "U", "TIMER_DELIVER_MS": str(NOW)},
    ],
    ids=lambda properties: str(properties)[:60],
)
def test_invalid_times_are_refused(setup: Setup, timers: TimerSends, properties: dict[str, str]) -> None:
    with pytest.raises(MessageIllegal, match=r"not be bigger than the max delay 3456000000ms; or if set del msg, the"):
        scheduled(timers, **properties)
    assert setup.topics.get("rmq_sys_wheel_timer") is None


def test_the_longest_delay_is_configured(setup: Setup, timers: TimerSends) -> None:
    setup.live.update({"timerMaxDelaySec": "3"})
    assert out_ms_of(scheduled(timers, TIMER_DELAY_SEC="3")) == NOW + 2999
    with pytest.raises(MessageIllegal, match="the max delay 3000ms"):
        scheduled(timers, TIMER_DELAY_MS="3001")


def test_timers_may_be_off(setup: Setup) -> None:
    keys = LiveGroup(TimerKeys(timer_wheel_enable=False))
    timers = TimerSends(keys, setup.live[BrokerKeys], setup.topics, setup.clock)
    with pytest.raises(TimerDisabled) as refusal:
        scheduled(timers, TIMER_DELIVER_MS="1")
    expected = (1, "accurate timer message is not enabled, timerWheelEnable is false")
    assert (response_code(refusal.value), str(refusal.value)) == expected
    assert scheduled(timers, TIMER_DEL_UNIQKEY="U").topic == "T"


def test_the_topic_is_created_with_the_first_message(setup: Setup, timers: TimerSends) -> None:
    for _ in range(2):
        scheduled(timers, TIMER_DELAY_SEC="1")
    made = setup.topics.get("rmq_sys_wheel_timer")
    assert made is not None
    assert (made.read_queue_nums, made.write_queue_nums) == (1, 1)


def test_a_delivered_timer_message_is_no_timer_message_any_more(timers: TimerSends) -> None:
    items = properties_text(TIMER_DELAY_SEC="5")
    draft = draft_of("TIMER_DELAY_SEC\x015\x02TIMER_OUT_MS\x0117")
    assert timers.schedule(draft, items, b"") is None
    assert draft.topic == "T"
    assert not was_delivered(b"MY_TIMER_OUT_MS\x0117\x02TIMER_OUT_MS\x01")


def test_a_recall_handle_is_returned_for_timer_messages(timers: TimerSends) -> None:
    items = properties_text(TIMER_DELAY_SEC="5")
    handle = timers.schedule(draft_of("a\x01b"), items, b"")
    assert handle is not None
    assert decode_recall_handle(handle.decode()) == ("T", "broker-a", NOW + 5000, "U")
    assert timers.schedule(draft_of("a\x01b", key=None), items, b"") is None
    assert timers.schedule(draft_of("a\x01b", key="a b"), items, b"") is None
    assert timers.schedule(draft_of("a\x01b", topic="%RETRY%G"), items, b"") is None


NUMBERS = st.integers(-5, 5000).map(str) | st.integers(NOW - 5, NOW + 41 * DAY).map(str)
VALUES = NUMBERS | st.sampled_from(["x", " 1", "1.5", "+7", "9" * 20])
PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS", "__STARTDELIVERTIME"), VALUES),
        "TIMER_DEL_UNIQKEY": st.just("U"),
        "TIMER_OUT_MS": st.just("17"),
        "DELAY": st.sampled_from(["0", "3"]),
        "TRAN_MSG": st.sampled_from(["true", "false"]),
        "a": st.just("b"),
    },
)


def expected_outcome(properties: dict[str, str]) -> str | int:
    """The expected outcome: refused, at once, half, delayed by a level, or TIMER_OUT_MS."""
    times = ["TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS", "__STARTDELIVERTIME"]
    named = [name for name in times if name in properties and "TIMER_OUT_MS" not in properties]
    if properties.get("TRAN_MSG") == "true":
        return "half"
    if properties.get("DELAY") == "3":
        return "level"
    if not named:
        return "at once"
    text = properties[named[0]].removeprefix("+")
    if not text.isdigit() or len(text) > 19:
        return "refused"
    due = int(text) if named[0] in times[2:] else NOW + int(text) * (1000 if named[0] == times[0] else 1)
    if due > NOW + 40 * DAY:
        return "refused"
    if due <= NOW:
        return "refused" if "TIMER_DEL_UNIQKEY" in properties else "at once"
    return out_time(due)


@given(st.permutations(range(9)), PROPERTIES)
def test_sends_follow_the_rules(shared: Setup, order: list[int], properties: dict[str, str]) -> None:
    items = list(properties.items())
    text = properties_text(**dict(items[at] for at in order if at < len(items)))
    try:
        (draft,) = shared.sending.drafts.message(fields(properties=text), body(), HOST, "peer").drafts
    except MessageIllegal:
        found: str | int = "refused"
    else:
        where = {"T": "at once", "SCHEDULE_TOPIC_XXXX": "level", "RMQ_SYS_TRANS_HALF_TOPIC": "half"}
        found = where.get(draft.topic) or out_ms_of(draft) or ""
    assert found == expected_outcome(properties)


def test_the_timers_properties_are_known() -> None:
    assert may_have_a_time("DELAY\x011\x02__STARTDELIVERTIME\x011")
    assert may_have_a_time("TIMER_DEL_UNIQKEY\x011")
    assert not may_have_a_time("DELAY\x011\x02TRAN_MSG\x01true")
    assert without_times("TIMER_DELAY_SEC\x011") == without_times("__STARTDELIVERTIME\x011") == ""
    assert without_times("DELAY\x011") == "DELAY\x011"
    assert without_times("TIMER_DEL_UNIQKEY\x01U\x02TRAN_MSG\x01TIMER_D\x02TIMER_DELAY_MS\x011\x02DELAY\x013") == (
        "TRAN_MSG\x01TIMER_D\x02DELAY\x013"
    )
    assert time_property({"DELAY": "1"}) is None
    assert time_property({"TIMER_DEL_UNIQKEY": "1"}) == "TIMER_DEL_UNIQKEY"
