"""Random SQL92 expressions and property texts for tests of filters: valid and broken ones.

Theory: most expressions are generated from the grammar, with few names and values so that they often match a message;
some then lose, gain or repeat a piece, others are words in any order. Spelling varies too: blanks, comments, letter
case. A seed gives the same cases on every machine.
"""

from __future__ import annotations

from random import Random
from typing import Final

NAMES: Final = ("a", "b", "c", "A", "TAGS", "_x$1", "key", "order1", "in_", "Not1", "missing")
#: Names that 4.9.7 accepts.
FUNCTIONS: Final = ("CONTAINS", "STARTSWITH", "ENDSWITH")
_WHOLE: Final = (
    "0", "1", "2", "5", "5", "5", "10", "100", "007", "0x1F", "010", "5L", "10l", "2147483647", "2147483648",
    "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808", "0L", "12abc", "1", "2", "5", "6",
)  # fmt: skip
_DECIMAL: Final = (
    "5.0", "5.5", ".5", "5.", "0.0", "1e2", "1E-2", "5.e0", "1e400", "4.9E-324", "1e", "2147483647.0", "5.0", "4.5",
    "6.", "9007199254740992.0", "9.223372036854775807e18", "1.5f", "100.25E+1", "0.1",
)  # fmt: skip
_TEXTS: Final = (
    "'x'", "'x'", "'5'", "'5.0'", "''", "'it''s'", "''''", "'true'", "'TRUE'", "'日本'", "'\U0001f600'", "' 5 '",
    "'abc'", "'b'", "'a\nb'", "'NaN'", "'--'", "'/*'", "'TagA'", '"x"', "'open",
)  # fmt: skip
_VALUES: Final = (
    "", "x", "5", "5", "6", "4", "-5", "+5", "5.0", "5.5", "5f", "5d", "1e2", "0x1p3", "0x1F", "NaN", "Infinity",
    "-Infinity", "inf", "nan", " 5 ", "5L", "1_0", "007", "0", "-0", "0.0", "-0.0", "true", "TRUE", "false", "abc",
    "it's", "'", "日本", "\U0001f600", "\u0665", "\uff15", "²", "\U0001d7d3", "2147483647", "2147483648", "-2147483648",
    "-2147483649", "9223372036854775807", "9223372036854775808", "9007199254740993", "1e400", "-", "+", ".", ".5", "5.",
    "TagA", "a\nb", "--", "0x.8p1", "0x1p", "100", "10", "5 5", "1e2f", "\t5\t", "\u00a05", "0x1.fp2000",
    "000000000000000000000005", "a\x01b",
)  # fmt: skip
_BLANKS: Final = ("", "", " ", " ", " ", "  ", "\t", "\n", "\r\n", "\f", " /* c * / */ ", "/***/", " -- c\n", "--\r")
_PIECES: Final = (
    "AND", "OR", "NOT", "IS", "NULL", "IN", "BETWEEN", "TRUE", "FALSE", "(", ")", ",", "=", "<>", "<", ">", "<=", ">=",
    "+", "-", "'", "#", "--", "/*", "*/", "!=", "==", ";", "5", "a", "'x'", ".", "\u00a0", "é", "LIKE", "\\", '"', "[",
    "%", "\0",
)  # fmt: skip
_WORDS: Final = (
    "a", "a", "b", "c", "missing", "5", "5.5", "'x'", "TRUE", "FALSE", "NULL", "AND", "OR", "NOT", "NOT", "IS", "IN",
    "(", "(", ")", ")", ",", "BETWEEN", "=", "<>", "<", ">", "<=", ">=", "+", "-", "-- c\n", "/* c */", "#", "'",
)  # fmt: skip


class Cases:
    """Makes cases; `functions` are the operators that are not in every version."""

    def __init__(self, random: Random, functions: tuple[str, ...]) -> None:
        self._random = random
        self._functions = functions

    def properties(self) -> bytes:
        """The property text of a message, as stored."""
        names = self._random.choices(NAMES[:-1], k=self._random.randrange(1, 8))
        items = [f"{name}\x01{self._random.choice(_VALUES)}" for name in names]
        return "\x02".join(items).encode()

    def expression(self) -> str:
        """An expression; one in four is broken somewhere."""
        pieces = self._condition(self._random.choice((1, 1, 2, 2, 3)))
        broken = self._random.random()
        if broken < 0.2:
            for _ in range(self._random.choice((1, 1, 2))):
                self._break(pieces)
        letters = list(self._spelt(pieces))
        if broken > 0.95:
            self._break(letters)
        return "".join(letters)

    def words(self) -> str:
        """A few words and signs in any order: seldom an expression as a whole, more often its beginning is one."""
        count = self._random.randrange(1, 10)
        return " ".join(self._random.choice((*_WORDS, *self._functions)) for _ in range(count))

    def _break(self, pieces: list[str]) -> None:
        at = self._random.randrange(len(pieces) + 1)
        match self._random.randrange(4):
            case 0:
                del pieces[at : at + 1]
            case 1:
                pieces.insert(at, self._random.choice((*_PIECES, *self._functions)))
            case 2:
                pieces[at : at + 1] = [self._random.choice((*_PIECES, *self._functions))]
            case _:
                pieces[at:at] = pieces[at : at + 2]

    def _spelt(self, pieces: list[str]) -> str:
        text = self._random.choice(_BLANKS)
        for piece in pieces:
            changed = piece
            if piece.isalpha() and piece not in NAMES:
                changed = self._random.choice((piece, piece, piece.lower(), piece.title()))
            # Words and numbers side by side would be one.
            blank = self._random.choice(_BLANKS)
            if not blank and text[-1:].isalnum() and changed[:1].isalnum() and self._random.random() < 0.95:
                blank = " "
            text += blank + changed
        return text + self._random.choice(_BLANKS)

    def _condition(self, depth: int) -> list[str]:
        if depth <= 0 or self._random.random() < 0.15:
            return self._simple()
        match self._random.randrange(8):
            case 0 | 1:
                return self._joined("AND", depth)
            case 2 | 3:
                return self._joined("OR", depth)
            case 4:
                return ["NOT", "(", *self._condition(depth - 1), ")"]
            case 5:
                return ["(", *self._condition(depth - 1), ")"]
            case 6:
                inner = ["(", *self._condition(depth - 1), ")"]
                return self._random.choice(
                    (
                        ["NOT", *inner],
                        [*inner, "IS", "NULL"],
                        [*inner, "IS", "NOT", "NULL"],
                        [*inner, self._random.choice(("=", "<>")), *self._value()],
                        [*self._value(), self._random.choice(("=", "<>", ">")), *inner],
                        ["-", *inner, "IS", "NULL"],
                    )
                )
            case _:
                return self._simple()

    def _joined(self, word: str, depth: int) -> list[str]:
        pieces = self._condition(depth - 1)
        for _ in range(self._random.choice((1, 1, 2))):
            pieces += [word, *self._condition(depth - 1)]
        return pieces

    def _simple(self) -> list[str]:
        choice = self._random.choice
        match self._random.randrange(12 + bool(self._functions)):
            case 0 | 1 | 2:
                return [choice(NAMES), choice(("=", "<>")), *self._value()]
            case 3:
                return [*self._value(), choice(("=", "<>")), *self._value()]
            case 4 | 5 | 6:
                return [choice(NAMES), choice(("<", ">", "<=", ">=")), *self._number()]
            case 7:
                return [*self._number(), choice(("<", ">", "<=", ">=")), choice(NAMES)]
            case 8:
                return [choice(NAMES), *choice(([], ["NOT"])), "BETWEEN", *self._number(), "AND", *self._number()]
            case 9:
                return [choice(NAMES), "IS", *choice(([], ["NOT"])), "NULL"]
            case 10:
                texts = [piece for _ in range(choice((1, 2, 3, 6))) for piece in (",", choice(_TEXTS[:-2]))]
                return [*choice(([], ["+"])), choice(NAMES), *choice(([], ["NOT"])), "IN", "(", *texts[1:], ")"]
            case 11:
                return choice(([choice(NAMES)], ["TRUE"], ["FALSE"], ["NULL"], ["NOT", choice(NAMES)]))
            case _:
                of = [choice(NAMES)] if self._random.random() < 0.8 else self._value()
                return [*of, *choice(([], [], ["NOT"])), choice(self._functions), choice(_TEXTS[:-2])]

    def _number(self) -> list[str]:
        choice = self._random.choice
        value = choice((*_WHOLE, *_DECIMAL)) if self._random.random() < 0.85 else choice((*NAMES, *_TEXTS))
        return [*choice(([], [], [], ["-"], ["+"], ["-", "-"])), value]

    def _value(self) -> list[str]:
        choice = self._random.choice
        match self._random.randrange(8):
            case 0 | 1 | 2:
                return [choice(_TEXTS)]
            case 3 | 4:
                return self._number()
            case 5:
                return [choice(("TRUE", "FALSE", "NULL"))]
            case 6:
                return ["-", choice((*NAMES, *_TEXTS))]
            case _:
                return [choice(NAMES)]
