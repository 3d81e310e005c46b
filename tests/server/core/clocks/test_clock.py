from __future__ import annotations

import time

import pytest

from rocketwire.server.core.clocks.clock import http_date, local_text, system_clock


def test_the_clock_returns_milliseconds_since_1970() -> None:
    before = time.time()
    now = system_clock()
    assert isinstance(now, int)
    assert before * 1000 - 1 <= now <= time.time() * 1000


def test_a_local_time_has_apaches_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.localtime", time.gmtime)
    assert local_text(1_795_253_424_046) == "2026-11-21#09:30:24:046"
    assert local_text(-1) == "1969-12-31#23:59:59:999"


def test_a_time_has_the_form_of_http() -> None:
    assert http_date(1_795_253_424_046) == "Sat, 21 Nov 2026 09:30:24 GMT"
