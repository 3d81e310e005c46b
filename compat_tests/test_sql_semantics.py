"""SQL92 filters have Apache's semantics: the same expressions and messages through Apache's own filter and ours.

Theory: Apache's filter is a library. A small Java program (java/filter/Evaluate.java) compiles and evaluates thousands
of generated cases with it; our result must be the same for each: refused or not, true, false, null or an exception.
4.9.7 and 5.5.0 differ in three operators only, for which ours follows 5.5.0.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from compat_tests.filter_cases import FUNCTIONS, Cases
from compat_tests.readme import ROOT
from rocketwire.compat.environment import artifacts
from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.filters.sql import compile_evaluation
from rocketwire.server.filters.sql.code import Evaluate
from rocketwire.server.filters.sql.java_numbers import EvaluationFailed

_EXPRESSIONS = 2_500
_WORDS = 2_500
_MESSAGES = 12
_REFUSED = "!"


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled Java program."""
    folder = tmp_path_factory.mktemp("filter")
    jars = artifacts.classpath(artifacts.jars("4.9.7", kind="server"))
    source = ROOT / "compat_tests" / "java" / "filter" / "Evaluate.java"
    artifacts.run([artifacts.javac(), "-nowarn", "-encoding", "UTF-8", "-cp", jars, "-d", folder, source])
    return folder


@pytest.mark.parametrize(("version", "functions"), [("4.9.7", ()), ("5.5.0", FUNCTIONS)])
def test_as_apaches_filter(classes: Path, version: str, functions: tuple[str, ...]) -> None:
    cases = Cases(Random(20_260_101), functions)
    messages = [cases.properties() for _ in range(_MESSAGES)]
    expressions = [cases.expression() for _ in range(_EXPRESSIONS)] + [cases.words() for _ in range(_WORDS)]
    lines = _apache(classes, version, messages, expressions)
    theirs = [_REFUSED if line.startswith(_REFUSED) else line for line in lines]
    ours = [_results(expression, messages) for expression in expressions]
    assert [
        (expression, expected, got)
        for expression, expected, got in zip(expressions, theirs, ours, strict=True)
        if expected != got
    ] == []
    # The cases are worth something: each outcome is frequent.
    together = "".join(ours)
    assert min(together.count(letter) for letter in "TFNX") > len(together) / 20
    for some, least in ((ours[:_EXPRESSIONS], 0.5), (ours[_EXPRESSIONS:], 0.1)):
        assert least < sum(result != _REFUSED for result in some) / len(some) < 1
    # Nearly always the error names the same place: Apache reads further ahead at a plus sign.
    places = [
        (_place_in(line), _place_in(_refusal(expression)))
        for expression, line in zip(expressions, lines, strict=True)
        if line.startswith(_REFUSED)
    ]
    assert sum(expected != got for expected, got in places) < len(places) / 100
    assert sum(expected is not None for expected, _ in places) > len(places) / 2


_PLACE = re.compile(r"Encountered .*? at line \d+, column \d+\.|Lexical error at line \d+, column \d+\.")


def _place_in(refusal: str) -> str | None:
    """What of a refusal has a position of Apache's: words and signs."""
    found = _PLACE.search(refusal)
    return found and found[0]


def _refusal(expression: str) -> str:
    with pytest.raises(FilterExpressionInvalid) as caught:
        compile_evaluation(expression)
    return str(caught.value)


def _apache(classes: Path, version: str, messages: Sequence[bytes], expressions: Sequence[str]) -> list[str]:
    """A line of letters an expression, of a refused one the mark and what is wrong: see Evaluate.java."""
    jars = artifacts.classpath(classes, artifacts.jars(version, kind="server"))
    done = subprocess.run(
        [artifacts.java(), "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8", "-cp", jars, "filter.Evaluate"],
        input=_packed(messages) + _packed([expression.encode() for expression in expressions]),
        stdout=subprocess.PIPE,
        timeout=240,
        check=True,
    )
    return done.stdout.decode().removesuffix("\n").split("\n")


def _packed(texts: Sequence[bytes]) -> bytes:
    return struct.pack(">i", len(texts)) + b"".join(struct.pack(">i", len(text)) + text for text in texts)


def _results(expression: str, messages: Sequence[bytes]) -> str:
    try:
        evaluate = compile_evaluation(expression).evaluate
    except FilterExpressionInvalid:
        return _REFUSED
    return "".join(_letter(evaluate, message) for message in messages)


def _letter(evaluate: Evaluate, message: bytes) -> str:
    try:
        return {True: "T", False: "F", None: "N"}[evaluate(message)]
    except EvaluationFailed:
        return "X"
