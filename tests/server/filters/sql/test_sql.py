from __future__ import annotations

import subprocess
import sys

import pytest

from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.filters.sql import compile_sql


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


@pytest.mark.costly
def test_the_grammar_is_loaded_when_the_first_expression_comes() -> None:
    program = "import sys, rocketwire.server.run; print('lark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout == "False\n"
