"""Of `run`, `output`, `table` and `times`."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.cli import table
from rocketwire.cli.errors import CommandError
from rocketwire.cli.output import count_of, number, size
from rocketwire.cli.run import INTERRUPTED, run
from rocketwire.cli.table import TableColumn, clean, cut, displayed, lines, output_width, print_facts, print_table
from rocketwire.cli.times import parsed, shown
from rocketwire.remoting.errors import NoSuchTopic, NotReached, Refused
from rocketwire.store.errors import StoreUnreadable

texts = st.text(st.characters(codec="utf-8"), max_size=30)


@given(st.integers(0, 253_402_300_799_999))
def test_a_time_that_is_shown_is_read_back(milliseconds: int) -> None:
    text = shown(milliseconds)
    assert parsed("--since", text) == parsed("--since", text.replace(" ", "T") + "Z") == milliseconds
    assert parsed("--since", f"{milliseconds:013d}") == milliseconds


def test_times_may_have_a_zone_or_none() -> None:
    assert parsed("--since", "1970-01-01T01:00:00+01:00") == 0
    assert parsed("--since", "19700102") == parsed("--since", "1970-01-02") == 86_400_000
    assert parsed("--since", "00000001000") == 1000
    assert parsed("--since", "1971") == parsed("--since", "1971-01-01") == 31_536_000_000
    for text in ("", "now", "99999999", "1970-01-01T25:00", "-5", "0000", "20260", "1795251788", "9" * 19):
        with pytest.raises(CommandError, match="expected ISO 8601"):
            parsed("--since", text)


def test_times_that_no_calendar_has_are_numbers() -> None:
    assert shown(1 << 62) == str(1 << 62)
    assert shown(-(1 << 62)) == str(-(1 << 62))
    assert shown(None) == ""
    assert shown(-1) == "1969-12-31 23:59:59.999"


def test_sizes_are_for_people() -> None:
    sizes = (0, 1023, 1024, 1536, 1 << 30, 3 << 49, 1 << 70)
    assert [size(count) for count in sizes] == [
        "0 bytes",
        "1023 bytes",
        "1.0 KiB",
        "1.5 KiB",
        "1.0 GiB",
        "1.5 PiB",
        "1048576.0 PiB",
    ]
    assert number(1234567) == "1,234,567"
    assert [count_of(count, "finding") for count in (0, 1, 2000)] == ["0 findings", "1 finding", "2,000 findings"]


@given(texts)
def test_a_clean_text_prints_on_one_line(text: str) -> None:
    assert clean(text).isprintable()
    if text.isprintable():
        assert clean(text) == text


def test_control_characters_become_escapes() -> None:
    assert clean("a\tb\nc\r\x1b\x9b\u2028\ue000") == "a\\tb\\nc\\r\\x1b\\x9b\\u2028\\ue000"


def test_wide_characters_take_two_places() -> None:
    assert [displayed(text) for text in ("abc", "标签", "e\u0301", "\uff57")] == [3, 4, 1, 2]
    assert [cut("标签标签", width) for width in (8, 7, 5, 4)] == ["标签标签", "标签标…", "标签…", "标…"]
    assert cut("abc", 1) == "…"


@given(texts, st.integers(1, 20))
def test_a_cut_text_fits(text: str, width: int) -> None:
    assert displayed(cut(clean(text), width)) <= width


@given(st.lists(st.tuples(texts, texts, texts), max_size=8), st.integers(20, 90))
def test_a_table_fits_its_width(rows: list[tuple[str, str, str]], width: int) -> None:
    columns = (TableColumn("ONE", least=4), TableColumn("TWO", least=4, right=True), TableColumn("THREE", least=5))
    made = list(lines(columns, rows, width))
    assert len(made) == len(rows) + 1
    assert all(displayed(line) <= width for line in made)


def test_the_widest_column_gives_way_first() -> None:
    columns = (TableColumn("A", least=3), TableColumn("B", least=3), TableColumn("C", least=3, right=True))
    assert list(lines(columns, [("a" * 4, "b" * 30, "7")], 20)) == [
        "A     B" + " " * 12 + "C",
        "aaaa  bbbbbbbbbb…  7",
    ]


def test_texts_are_made_narrower_after_all_others() -> None:
    columns = (TableColumn("KEYS", least=4), TableColumn("BODY", least=4, text=True))
    rows = [("k" * 20, "b" * 10)]
    assert list(lines(columns, rows, 24))[-1] == "k" * 11 + "…" + "  " + "b" * 10
    assert list(lines(columns, rows, 12))[-1] == "kkk…  bbbbb…"


def test_later_rows_are_cut_to_the_first_ones() -> None:
    rows = [("a",)] * 100 + [("longer",)]
    assert list(lines((TableColumn("TITLE"),), rows, 80))[-1] == "long…"


def test_without_a_terminal_nothing_is_cut() -> None:
    assert output_width() is None
    columns = (TableColumn("A", least=3), TableColumn("B", spare=1), TableColumn("T (UTC)", least=16, time=True))
    rows = [("a" * 300, "b" * 300, "2026-01-31 09:30:00.123")] * 200 + [("a" * 301, "b", "")]
    made = list(lines(columns, rows, None))
    assert made[1] == "  ".join(rows[0])
    assert made[-1] == "a" * 301 + "  b"


TIMED = (
    TableColumn("TOPIC", least=6),
    TableColumn("SIZE", right=True, spare=2),
    TableColumn("BORN (UTC)", least=16, time=True, spare=1),
    TableColumn("STORED (UTC)", least=16, time=True),
)


@pytest.mark.parametrize(
    ("width", "line", "without"),
    [
        (80, "Topic1234  1.5 KiB  2026-01-31 09:30:00.123  2026-01-31 09:30:01.456", []),
        (67, "Topic1234  1.5 KiB  2026-01-31 09:30:00     2026-01-31 09:30:01.456", []),
        (60, "Topic1234  1.5 KiB  2026-01-31 09:30  2026-01-31 09:30:01", []),
        (51, "Topic…  1.5 KiB  2026-01-31 09:30  2026-01-31 09:30", []),
        (44, "Topic1234  1.5 KiB  2026-01-31 09:30:01.456", ["BORN (UTC)"]),
        (27, "Topic1234  2026-01-31 09:30", ["BORN (UTC)", "SIZE"]),
        (20, "Topic…  2026-01-31 …", ["BORN (UTC)", "SIZE"]),
    ],
)
def test_times_are_cut_first_and_spare_columns_omitted(width: int, line: str, without: list[str]) -> None:
    left_out: list[str] = []
    row = ("Topic1234", "1.5 KiB", "2026-01-31 09:30:00.123", "2026-01-31 09:30:01.456")
    made = list(lines(TIMED, [row], width, left_out=left_out.extend))
    assert (made[1], sorted(left_out)) == (line, without)


def test_omitted_columns_are_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(table, "output_width", lambda: 20)
    print_table((TableColumn("LONG TITLE"), TableColumn("OTHER TITLE", spare=1)), [("1", "2")])
    print_facts([("state", "a text that is longer than the line"), ("", "more")])
    caught = capsys.readouterr()
    assert caught.out.splitlines() == [
        "LONG TITLE",
        "1",
        "state           a text that is",
        "                longer than the",
        "                line",
        "                more",
    ]
    assert caught.err == "rocketwire: left out, as the terminal is narrow: OTHER TITLE (--json has all)\n"


def ending(error: BaseException) -> int:
    """The exit code of a command that ends so."""

    @click.command
    def command() -> None:
        raise error

    return run(command, [])


def test_ctrl_c_ends_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(KeyboardInterrupt()) == INTERRUPTED == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (StoreUnreadable("x", "why"), 2, "x cannot be read: why"),
        (Refused("broker b", 13, "no"), 1, "broker b answered code 13: no"),
        (NotReached("broker b", "no answer"), 3, "broker b: no answer"),
        (NoSuchTopic("T", "n:1"), 1, "topic T: the name server n:1 knows no such topic"),
        (CommandError("wrong"), 2, "wrong"),
    ],
)
def test_errors_are_one_line(error: Exception, code: int, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(error) == code
    assert capsys.readouterr() == ("", f"rocketwire: {line}\n")


def test_other_errors_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        ending(ZeroDivisionError())


def test_the_table_is_as_wide_as_the_terminal() -> None:
    leader, follower = os.openpty()
    program = "from rocketwire.cli.table import output_width; print(output_width())"
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=follower, env={**environment, "COLUMNS": "72"}
    ) as ran:
        assert ran.wait(240) == 0
    assert os.read(leader, 100).split() == [b"72"]
    os.close(leader)
    os.close(follower)
