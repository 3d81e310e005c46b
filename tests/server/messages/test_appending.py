"""Which drafts of a group are stored, with stores that refuse by a plan; the real store is asked in test_sending."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from rocketwire.server.core.errors import ServiceUnavailable
from rocketwire.server.messages.appending import NOT_STORED, append_group, refusal_of
from rocketwire.store.append.drafts import AppendResult
from rocketwire.store.errors import DiskFull, PropertiesTooLong, RecordTooLarge, StoreError, TopicUnusable

LARGE = RecordTooLarge(2, 1)
BAD_TOPIC = TopicUnusable("/")
LONG = PropertiesTooLong(2, 1)
FULL = DiskFull("here", "full")


class Planned(NamedTuple):
    """A draft of which the store does as it says: gives it that offset, or refuses it so."""

    outcome: int | StoreError
    group_size: int = 0


class PlannedStore:
    """Takes drafts that are offsets, refuses those that are errors."""

    def __init__(self) -> None:
        self.append_error: StoreError | None = None
        self.groups = 0

    def append(self, drafts: Sequence[Planned]) -> list[AppendResult]:
        self.groups += 1
        self.append_error = None
        appended: list[AppendResult] = []
        for draft in drafts:
            if isinstance(draft.outcome, StoreError):
                self.append_error = draft.outcome
                break
            appended.append(AppendResult(draft.outcome, 1, draft.outcome))
        return appended


@pytest.mark.parametrize(
    ("drafts", "stored", "refused"),
    [
        ([], [], {}),
        ([1, 2], [1, 2], {}),
        ([1, LARGE, 2, BAD_TOPIC, 3], [1, -1, 2, -1, 3], {1: str(LARGE), 3: str(BAD_TOPIC)}),
        ([1, LONG, 2], [1, -1, 2], {1: str(LONG)}),
        ([LARGE, LARGE], [-1, -1], {0: str(LARGE), 1: str(LARGE)}),
        ([1, Planned(LARGE, 3), 2, 3, 4], [1, -1, -1, -1, 4], dict.fromkeys((1, 2, 3), str(LARGE))),
        ([1, FULL, 2], [1, -1, -1], dict.fromkeys((1, 2), str(ServiceUnavailable(str(FULL))))),
        ([LARGE, FULL], [-1, -1], {0: str(LARGE), 1: str(ServiceUnavailable(str(FULL)))}),
    ],
)
def test_what_becomes_of_a_group(drafts: list[Any], stored: list[int], refused: dict[int, str]) -> None:
    store: Any = PlannedStore()
    group: list[Any] = [each if isinstance(each, Planned) else Planned(each) for each in drafts]
    appended, refusals = append_group(store, group)
    assert [each.physical_offset for each in appended] == stored
    assert [at for at, each in enumerate(appended) if each is NOT_STORED] == list(refused)
    assert {at: str(error) for at, error in refusals.items()} == refused


def test_a_group_that_fits_is_one_append() -> None:
    store: Any = PlannedStore()
    drafts: list[Any] = [Planned(1)] * 9
    append_group(store, drafts)
    assert store.groups == 1


def test_a_send_is_refused_for_the_first_of_its_drafts_that_was() -> None:
    refusals = {2: LARGE, 3: FULL}
    assert [refusal_of(refusals, first, first + 2) for first in (0, 1, 2, 4)] == [None, LARGE, LARGE, None]
