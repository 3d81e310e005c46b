from __future__ import annotations

import subprocess
import sys

import pytest

from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.filters.sql import MOST_CHARACTERS, CompiledCache, compile_sql


def test_only_what_is_true_is_wanted() -> None:
    wanted = compile_sql("a > 5 AND b = 'x'").wanted
    assert wanted(b"KEYS\x01k\x02a\x017\x02b\x01x")
    assert not wanted(b"a\x015\x02b\x01x")
    assert not wanted(b"b\x01x"), "null"
    assert not wanted(b"a\x017.0\x02b\x01x"), "no integer"


def test_an_expression_is_compiled_once() -> None:
    assert compile_sql("a = 'once'") is compile_sql("a = 'once'")


def test_a_bad_expression_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(FilterExpressionInvalid, match="line 1, column 3"):
            compile_sql("a >")


def test_the_grammar_is_loaded_when_the_first_expression_comes() -> None:
    program = "import sys, rocketwire.server.run; print('lark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout == "False\n"


def test_those_not_asked_for_the_longest_time_go() -> None:
    kept = CompiledCache[int]()
    third = "x" * (MOST_CHARACTERS // 3)
    for number in range(3):
        kept.put(f"{number}"[:1] + third[1:], number)
    assert kept.get("0" + third[1:]) == 0
    kept.put("3" + third[1:], 3)
    assert [kept.get(f"{number}" + third[1:]) for number in range(4)] == [0, None, 2, 3]


def test_short_expressions_are_many_but_not_without_end() -> None:
    kept = CompiledCache[int]()
    for number in range(10_000):
        kept.put(str(number), number)
    assert 1000 < len(kept) < 5000
    assert kept.get("9999") == 9999


def test_what_takes_all_of_the_room_stays_alone() -> None:
    kept = CompiledCache[int]()
    kept.put("small", 1)
    kept.put("x" * MOST_CHARACTERS, 2)
    assert (len(kept), kept.get("x" * MOST_CHARACTERS)) == (1, 2)
