"""What Python decides for pulls is kept until it is forgotten; and the object that keeps it."""

from __future__ import annotations

import functools
import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.store import MessageStore
from tests.kernel.pull.pulls_support import PullCase, Twins, numbered, update
from tests.store.support import draft


def test_a_plan_is_fetched_once_and_again_when_it_is_forgotten(twins: Twins) -> None:
    for _ in range(3):
        twins.serve(PullCase(offset=3).frame() + PullCase(offset=4, code=361).frame(commit_offset=9))
    assert twins.requests == [("G", "T", 0, 4, 0, "*", "TAG", 32, None)]
    twins.pulls.forget()
    twins.serve(PullCase().frame())
    assert len(twins.requests) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"consumer_group": "H"},
        {"topic": "U"},
        {"queue_id": 1},
        {"sys_flag": 6},
        {"subscription": "A"},
        {"subscription": None},
        {"expression_type": ""},
        {"expression_type": None},
        {"max_msg_nums": 31},
        {"max_msg_bytes": 0},
        {"max_msg_bytes": 7},
        {"topic": "TG", "consumer_group": ""},
    ],
)
def test_another_combination_has_another_plan(twins: Twins, changes: dict[str, Any]) -> None:
    twins.serve(PullCase().frame())
    twins.serve(PullCase().frame(**changes))
    assert len(twins.requests) == 2


def test_a_missing_plan_is_fetched_again_and_one_for_python_is_kept(twins: Twins) -> None:
    for _ in range(3):
        assert twins.serve(PullCase(expression="python").frame()) == (b"", 0)
    assert len(twins.requests) == 1
    for _ in range(3):
        assert twins.serve(PullCase(queue_id=1).frame()) == (b"", 0)
    assert len(twins.requests) == 4
    twins.store.append([draft(1, queue_id=1)])
    assert twins.serve(PullCase(queue_id=1).frame())[1]


def test_plans_may_be_dropped_while_one_is_in_use(twins: Twins) -> None:
    twins.commit = lambda *_: twins.pulls.forget()
    for number in range(3):
        assert twins.serve(PullCase(sys_flag=5, opaque=number).frame())[1]
        assert len(twins.requests) == number + 1
    assert twins.pulls.take()[0] == [(("G", "T", 0), 10, twins.python(PullCase())[3], 1)] * 3


@pytest.mark.parametrize("frame", [PullCase().frame(), update()])
def test_what_fails_while_a_plan_is_made_is_for_python_which_answers_it(twins: Twins, frame: bytes) -> None:
    failures: list[BaseException] = [KeyError("plan"), KeyboardInterrupt()]

    def plan(*_: Any) -> Any:
        raise failures.pop(0)

    pulls = twins.kernel_pulls(plan=plan, plan_offset=plan)
    assert pulls.serve(None, frame, 0) == (b"", 0)
    with pytest.raises(KeyboardInterrupt):
        pulls.serve(None, frame, 0)


def test_the_version_counts_only_where_the_subscription_is_a_heartbeats(twins: Twins) -> None:
    for version in (1, 2):
        twins.serve(PullCase(sys_flag=4).frame(sub_version=version))
    assert [each[4] for each in twins.requests] == [0]
    for version in (1, 2):
        twins.serve(PullCase(sys_flag=0).frame(sub_version=version))
    assert [each[4] for each in twins.requests] == [0, 1, 2]


@pytest.mark.parametrize("plan", [7, (1,), (1,) * 9])
def test_a_plan_of_another_shape_is_refused(twins: Twins, plan: object) -> None:
    pulls = twins.kernel_pulls(plan=lambda *_: plan)
    with pytest.raises((TypeError, SystemError)):
        pulls.serve(None, PullCase().frame(), 0)


def test_more_plans_than_a_table_holds(twins: Twins) -> None:
    for number in range(20_000):
        pull = PullCase(most=number)
        assert twins.serve(pull.frame())[1]
    assert sum(each[1] for each in twins.pulls.take()[0]) == 10 * 20_000 - 9 - 9 - 8 - 7 - 6 - 5 - 4 - 3 - 2 - 1


# --- the object ---


def test_it_keeps_nothing_alive(store: MessageStore) -> None:
    store.append([draft(1)])
    twins = Twins(store)
    twins.serve(PullCase().frame() + update())
    gc.collect()
    before = len([each for each in gc.get_objects() if isinstance(each, Twins)])
    del twins
    gc.collect()
    assert len([each for each in gc.get_objects() if isinstance(each, Twins)]) == before - 1


def leads_back(store: MessageStore, *, forgotten: bool) -> weakref.ref[Any]:
    """A `Pulls` whose plans refer to it: a reference to its planner, which is freed with it."""
    twins = Twins(store)
    plan = twins._plan

    def leading_back(*fields: Any) -> Any:
        *made, account = plan(*fields)
        queue, codes, (names, wanted, most), *limits = made
        lead = functools.partial(lambda _pulls, text: wanted(text), pulls)
        return queue, codes, (names, lead, most), *limits, (account, pulls)

    pulls = twins.kernel_pulls(plan=leading_back, plan_offset=lambda *_: True)
    requested = PullCase(expression="a > 0").frame() + update()
    assert pulls.serve(None, requested, 0)[1] == len(requested)
    if forgotten:
        pulls.forget()
    return weakref.ref(leading_back)


@pytest.mark.parametrize("forgotten", [False, True])
def test_plans_that_lead_back_to_it_keep_nothing_alive(tmp_path: Path, forgotten: bool) -> None:
    store = numbered(tmp_path)
    watched = leads_back(store, forgotten=forgotten)
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("texts", [(), (((), ()),) * 3, (((b"",) * 5,) * 2, ((b"",) * 5,) * 2, ((b"",) * 5,) * 2)])
def test_texts_of_another_shape_are_refused(twins: Twins, texts: Any) -> None:
    with pytest.raises(TypeError):
        twins.kernel_pulls(texts=texts)
