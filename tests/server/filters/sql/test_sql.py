from __future__ import annotations

import subprocess
import sys

import pytest

from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.filters.sql import MOST_CHARACTERS, CompiledCache, compile_sql


def test_only_true_passes() -> None:
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


def test_the_grammar_is_loaded_with_the_first_expression() -> None:
    program = "import sys, rocketwire.server.run; print('lark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout == "False\n"


def test_the_least_recently_used_are_dropped() -> None:
    kept = CompiledCache[int]()
    third = "x" * (MOST_CHARACTERS // 3)
    for number in range(3):
        kept.put(f"{number}"[:1] + third[1:], number)
    assert kept.get("0" + third[1:]) == 0
    kept.put("3" + third[1:], 3)
    assert [kept.get(f"{number}" + third[1:]) for number in range(4)] == [0, None, 2, 3]


def test_the_number_of_short_expressions_is_bounded() -> None:
    kept = CompiledCache[int]()
    for number in range(10_000):
        kept.put(str(number), number)
    assert 1000 < len(kept) < 5000
    assert kept.get("9999") == 9999


def test_an_expression_that_takes_all_of_the_memory_is_kept_alone() -> None:
    kept = CompiledCache[int]()
    kept.put("small", 1)
    kept.put("x" * MOST_CHARACTERS, 2)
    assert (len(kept), kept.get("x" * MOST_CHARACTERS)) == (1, 2)
