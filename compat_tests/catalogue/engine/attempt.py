"""One attempt of a scenario: its outcome, and what explains it."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from rocketwire.compat.case import Case, NotPossible
from rocketwire.compat.clients.client import Stopped
from rocketwire.compat.results import Outcome
from rocketwire.compat.scenario import Scenario

_LONGEST_VALUE: Final = 300  # characters of a local variable
_LONGEST: Final = 20_000  # characters of a traceback
_OWN: Final = "rocketwire.compat.scenarios"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """How an attempt went.

    Attributes:
        outcome: PASS, DIFFERS, FAILS or NOT_OFFERED.
        reason: Why it did not pass: one line.
        seconds: What it took.
        error: The traceback, with the values of the scenario's variables; empty if it passed.
    """

    outcome: Outcome
    reason: str
    seconds: float
    error: str = ""


def attempt(scenario: Scenario, case: Case) -> Tried:
    """Run a scenario once.

    What a scenario itself raises is a difference in behaviour: an assertion that does not hold, an answer that is not
    there. What a client's program raises, or waiting too long for it, is a failure.

    Raises:
        Stopped: the run was stopped meanwhile.
    """
    began = time.monotonic()
    try:
        scenario.run(case)
    except Stopped:
        raise
    except NotPossible as error:
        return Tried(outcome=Outcome.NOT_OFFERED, reason=str(error), seconds=time.monotonic() - began)
    except Exception as error:  # noqa: BLE001 - whatever a scenario raises is its result
        reason, text = _described(error)
        own = isinstance(error, AssertionError) or _modules(error.__traceback__)[-1].startswith(_OWN)
        outcome = Outcome.DIFFERS if own else Outcome.FAILS
        return Tried(outcome=outcome, reason=reason, seconds=time.monotonic() - began, error=text)
    return Tried(outcome=Outcome.PASS, reason="", seconds=time.monotonic() - began)


def _described(error: Exception) -> tuple[str, str]:
    """One line, and the traceback.

    Only the scenarios' own variables are shown: those of other frames may be keys of accounts.
    """
    described = traceback.TracebackException(
        type(error), error, _from_scenario(error.__traceback__), capture_locals=True
    )
    line = ""
    for frame, module in zip(described.stack, _modules(_from_scenario(error.__traceback__)), strict=False):
        if module.startswith(_OWN):
            line = frame.line or ""
            values = frame.locals or {}
            frame.locals = {name: _cut(value, _LONGEST_VALUE) for name, value in values.items()}
        else:
            frame.locals = None
    text = str(error).splitlines()
    name = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    reason = f"{name}{text[0]}" if text and text[0] else line or type(error).__name__
    return _cut(reason, _LONGEST_VALUE), _cut("".join(described.format()), _LONGEST)


def _from_scenario(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the scenario's function on."""
    start = trace
    while start is not None and not str(start.tb_frame.f_globals.get("__name__", "")).startswith(_OWN):
        start = start.tb_next
    return start or trace


def _modules(trace: TracebackType | None) -> list[str]:
    found = []
    while trace is not None:
        found.append(str(trace.tb_frame.f_globals.get("__name__", "")))
        trace = trace.tb_next
    return found


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest // 2]} ... {text[-longest // 2 :]}"
