"""Faults at the start of a server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.faults.faulty import FaultyDispatcher
from rocketwire.server.faults.grammar import parse_rule
from rocketwire.server.faults.keys import FaultKeys
from rocketwire.server.faults.setup import allowed_faults, banner_lines

RULES = tuple(map(parse_rule, ("drop,code=310", "delay:5")))


def test_without_faults_allowed_nothing_is_installed() -> None:
    assert allowed_faults(FaultKeys(), lambda _: 0, Metrics()) is None
    assert list(banner_lines(FaultKeys())) == []


def test_without_faults_allowed_their_code_is_not_imported() -> None:
    code = "import sys, rocketwire.server.run; sys.exit('rocketwire.server.faults.faulty' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3])


def test_rules_from_the_start_are_in_force() -> None:
    faults = allowed_faults(FaultKeys(rules=RULES), lambda _: 0, Metrics())
    assert faults is not None
    assert [each.rule for each in faults.rules] == list(RULES)
    dispatcher: Any = type("Behind", (), {"settle": None, "guarded": False})()
    front, _ = faults.wrap_dispatcher(dispatcher, print, "namesrv")
    assert isinstance(front, FaultyDispatcher)
    assert front.guarded


def test_faults_may_be_allowed_without_a_rule() -> None:
    faults = allowed_faults(FaultKeys(fault_injection_enable=True), lambda _: 0, Metrics())
    assert faults is not None
    assert not faults.rules.active


def test_the_banner_shows_the_rules() -> None:
    assert list(banner_lines(FaultKeys(rules=RULES))) == [
        "  FAULTS: this endpoint misbehaves on purpose, by these rules (docs/faults.md):",
        "    drop:request,code=SEND_MESSAGE_V2",
        "    delay:5:request",
    ]
    (line,) = banner_lines(FaultKeys(fault_injection_enable=True))
    assert line == "  FAULTS: may be asked for over HTTP (faultInjectionEnable, docs/faults.md)"
