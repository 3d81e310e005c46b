"""Appending a group of drafts of which the store may refuse some.

A draft that the store can never take, or whose queue's file is gone, is refused by itself, or with the batch it begins,
and those behind it are stored; what no draft is to blame for, as a full disk, refuses all that are left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rocketwire.server.core.errors import ServiceUnavailable
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.errors import DraftRefused, StoreGone
from rocketwire.store.protocol import StoreProtocol

Refusals = Mapping[int, Exception]
"""Why drafts were not stored, by their place in the group; `server.core.errors` has the response codes."""

NOT_STORED: Final = AppendResult(-1, 0, -1)
"""Stands for a refused draft among those that were appended."""

_NO_REFUSALS: Final[Refusals] = {}


def append_group(store: StoreProtocol, drafts: Sequence[Draft]) -> tuple[list[AppendResult], Refusals]:
    """Append drafts in their order; give what became of each, and the refusals if there are any."""
    appended = store.append(drafts)
    if len(appended) == len(drafts):
        return appended, _NO_REFUSALS
    refusals: dict[int, Exception] = {}
    while (at := len(appended)) < len(drafts):
        # Taken down now: the next append, of anyone, sets it again.
        error = store.append_error
        refusal = error if isinstance(error, DraftRefused) else ServiceUnavailable(error)
        if refusal is error or (isinstance(error, StoreGone) and store.append_refusal is None):
            refused = range(at, at + max(1, drafts[at].group_size))
            refusals.update(dict.fromkeys(refused, refusal))
            appended += [NOT_STORED] * len(refused)
            appended += store.append(drafts[refused.stop :])
        else:
            left = range(at, len(drafts))
            refusals.update(dict.fromkeys(left, refusal))
            appended += [NOT_STORED] * len(left)
    return appended, refusals


def refusal_of(refusals: Refusals, first: int, end: int) -> Exception | None:
    """Why a send is refused that drafts `first` to `end` belong to; None when all of them were stored."""
    return next((refusals[at] for at in range(first, end) if at in refusals), None)
