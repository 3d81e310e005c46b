"""The line that a round of the back-check leaves in the log."""

from __future__ import annotations

import logging

import pytest

from rocketwire.server.transactions.round_report import RoundReport


def told(report: RoundReport, caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    caplog.clear()
    caplog.set_level("INFO")
    report.log_summary()
    return [(record.levelno, record.getMessage()) for record in caplog.records]


def test_a_round_in_which_all_were_asked_about_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    report = RoundReport()
    assert told(report, caplog) == []
    report.asked = 7
    assert told(report, caplog) == []


def test_of_many_groups_without_a_producer_those_with_most_messages_are_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    report = RoundReport()
    for number in range(8):
        report.unasked[f"g{number}"] += number
    line = (
        "transaction check: of the undecided half messages 28 have no producer here to be asked, of producer group "
        "g7 (7), g6 (6), g5 (5), g4 (4), g3 (3) and 3 more"
    )
    assert told(report, caplog) == [(logging.INFO, line)]


def test_all_that_is_counted_stands_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    report = RoundReport()
    report.asked, report.given_up, report.gone, report.failed = 1, 2, 3, 4
    report.unasked["P"] = 5
    report.too_long["Q"] = 6
    line = (
        "transaction check: of the undecided half messages 2 were given up and moved to TRANS_CHECK_MAX_TIME_TOPIC; "
        "3 are gone from the log, undecided; 4 cannot be checked; 6 are too long to ask about, of producer group Q (6)"
        "; 5 have no producer here to be asked, of producer group P (5); 1 were asked about"
    )
    assert told(report, caplog) == [(logging.WARNING, line)]
