"""The grammar of SQL92 filters: that of Apache 5.5.0, which is 4.9.7's with CONTAINS, STARTSWITH and ENDSWITH.

Apache parses the longest prefix that is an expression and ignores the rest: ``a = 1 b`` is ``a = 1``, and ``a = 01`` is
``a = 0``. Only the first token after the expression must be valid.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from typing import Final, cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedToken, v_args

from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.filters.sql import nodes
from rocketwire.server.filters.sql.nodes import Condition, Constant, Node, NotAllowed, Property, Truth, ValueKind
from rocketwire.server.filters.sql.places import end_position_text, lexical_error_text, position_text
from rocketwire.wire.java import INT32_MAX, INT64_MAX

MOST_CHARACTERS: Final = 16_384
"""A longer expression is refused: parsing it would block all other requests. Apache has no such limit."""
MOST_TOKENS: Final = 3000
"""One with more tokens is refused likewise: each takes some 7 µs."""
MOST_DASHES: Final = 16
"""So many ``--`` may be behind the last line end: the rest of the text is searched for the end of each comment."""
_LINE_ENDS: Final = re.compile(r"[\n\r]")

_KEYWORDS: Final = frozenset(
    "NOT AND OR BETWEEN IN TRUE FALSE NULL IS CONTAINS STARTSWITH ENDSWITH".split()  # noqa: SIM905 - as grammars list them
)
#: The names in Apache's remarks.
_LITERALS: Final = {
    "ID": "<ID>",
    "WHOLE": "<DECIMAL_LITERAL>",
    "DECIMAL": "<FLOATING_POINT_LITERAL>",
    "STRING": "<STRING_LITERAL>",
}
#: The tokens that may end a value.
_VALUES: Final = frozenset(_LITERALS) | {"TRUE", "FALSE", "NULL", "CLOSE"}
_TO_ESCAPE: Final = re.compile(r"""[^ !#-&(-\[\]-~]""")
_ESCAPES: Final = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "'": r"\'", "\\": r"\\"}
_PARSER: Final = "org.apache.rocketmq.filter.parser"
_SMALLEST: Final = 5e-324
_MOST_DIGITS: Final = 19
_GRAMMAR: Final = r"""
start: disjunction
?disjunction: conjunction (OR conjunction)* -> disjunction
?conjunction: equality (AND equality)* -> conjunction
?equality: comparison
    | equality EQUAL comparison -> equal
    | equality NOT_EQUAL comparison -> not_equal
    | equality IS NULL -> is_null
    | equality IS NOT NULL -> is_not_null
?comparison: unary
    | comparison (LESS | LESS_EQUAL | GREATER | GREATER_EQUAL) unary -> ordered
    | comparison [NOT] (CONTAINS | STARTSWITH | ENDSWITH) STRING -> matches
    | comparison BETWEEN unary AND unary -> between
    | comparison NOT BETWEEN unary AND unary -> not_between
    | comparison [NOT] IN OPEN STRING (COMMA STRING)* CLOSE -> one_of
?unary: primary
    | PLUS unary -> plus
    | MINUS unary -> minus
    | NOT unary -> negation
?primary: STRING -> text
    | WHOLE -> whole
    | DECIMAL -> decimal
    | (TRUE | FALSE | NULL) -> truth
    | ID -> property
    | OPEN disjunction CLOSE -> inner

EQUAL: "="
NOT_EQUAL: "<>"
LESS_EQUAL: "<="
LESS: "<"
GREATER_EQUAL: ">="
GREATER: ">"
OPEN: "("
COMMA: ","
CLOSE: ")"
PLUS: "+"
MINUS: "-"
STRING: /'(?:''|[^'])*'/
DECIMAL.2: /[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+/
WHOLE: /0|[1-9][0-9]*[lL]?/
ID: /[a-zA-Z_$][a-zA-Z0-9_$]*/
BLANKS: /[ \t\n\r\f]+/
LINE_COMMENT.2: /--[^\n\r]*[\n\r]/
BLOCK_COMMENT: /\/\*[^*]*\*(?:\*|[^*\/][^*]*\*)*\//
%ignore BLANKS
%ignore LINE_COMMENT
%ignore BLOCK_COMMENT
%declare NOT AND OR BETWEEN IN TRUE FALSE NULL IS CONTAINS STARTSWITH ENDSWITH
"""


def parse(text: str) -> Condition:
    """Parse an expression.

    Raises:
        FilterExpressionInvalid: it is not valid; the text has the position.
    """
    if len(text) > MOST_CHARACTERS:
        raise FilterExpressionInvalid(f"the expression has {len(text)} characters, {MOST_CHARACTERS} are the most")
    if _LINE_ENDS.split(text)[-1].count("--") > MOST_DASHES:
        raise FilterExpressionInvalid(f"the expression has more than {MOST_DASHES} times -- and no line end behind it")
    parser = _parser().parse_interactive(text)
    tokens: list[Token | None] = []
    try:
        # Anything may follow an expression, except that the first token that does not fit must be a valid one.
        with suppress(UnexpectedToken):
            tokens.extend(islice(parser.iter_parse(), MOST_TOKENS + 1))  # each token before it is examined
            if len(tokens) > MOST_TOKENS:
                raise FilterExpressionInvalid(f"the expression has more than {MOST_TOKENS} tokens")
            tokens.append(None)
        return cast("Condition", parser.feed_token(Token("$END", "")))
    except UnexpectedCharacters as error:
        raise FilterExpressionInvalid(
            f"{_PARSER}.TokenMgrError: Lexical error {lexical_error_text(text, cast('int', error.pos_in_stream))}."
        ) from None
    except UnexpectedToken:
        raise FilterExpressionInvalid(f"{_PARSER}.ParseException: Encountered {_shown(tokens, text)}.") from None
    except _Misfit as misfit:
        raise FilterExpressionInvalid(f"{misfit} ({position_text(text, misfit.at)})") from None


def _shown(tokens: Sequence[Token | None], text: str) -> str:
    """The misplaced token, the last one or the end of the text, and its place.

    Apache looks ahead at a NOT behind a value and at a plus sign, and reports those if nothing fits behind them.
    """
    words: list[Token | None] = [None, None, *tokens]
    while words[-2] is not None and words[-2].type == "PLUS":
        words.pop()
    value, word, last = words[-3:]
    if value is not None and value.type in _VALUES and word is not None and word.type == "NOT":
        last = word
    if last is None:
        return f'"<EOF>" {end_position_text(text)}'
    image = _LITERALS.get(last.type, f'"{last.upper()}"')
    return f'" {image} "{_escaped(last)} "" {position_text(text, last.start_pos or 0)}'


def _escaped(text: str) -> str:
    """A token's text in Apache's notation."""
    return _TO_ESCAPE.sub(lambda found: _ESCAPES.get(found[0]) or _utf16(found[0]), text)


def _utf16(char: str) -> str:
    return "".join(f"\\u{unit:04x}" for (unit,) in struct.iter_unpack(">H", char.encode("utf-16-be", "surrogatepass")))


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", lexer="basic", transformer=_Builder(), lexer_callbacks={"ID": _keyword})


def _keyword(token: Token) -> Token:
    """Turn names that are keywords, in any case, into keywords."""
    word = token.upper()
    return token.update(type=word) if word in _KEYWORDS else token


class _Misfit(ValueError):
    """Operands of the wrong type, and the index of the operator between them."""

    def __init__(self, text: str, at: int) -> None:
        super().__init__(text)
        self.at = at


@contextmanager
def _at(token: Token, java: str = "java.lang.RuntimeException") -> Iterator[None]:
    """Report the place of a type error: at this token."""
    try:
        yield
    except NotAllowed as problem:
        raise _Misfit(f"{java}: {problem}", token.start_pos or 0) from None


def _content(literal: Token) -> bytes:
    """The value of a text literal."""
    return literal[1:-1].replace("''", "'").encode("utf-8", "surrogatepass")


@v_args(inline=True)
class _Builder(Transformer[Token, Node]):
    """Makes nodes from the rules; a method has its rule's name."""

    def start(self, whole: Node) -> Condition:
        with _at(Token("", "", start_pos=0), f"{_PARSER}.ParseException"):
            return nodes.condition(whole)

    def disjunction(self, *parts: Node | Token) -> Node:
        return _joined(parts, every=False)

    def conjunction(self, *parts: Node | Token) -> Node:
        return _joined(parts, every=True)

    def equal(self, left: Node, sign: Token, right: Node) -> Node:
        with _at(sign):
            return nodes.equal(left, right)

    def not_equal(self, left: Node, sign: Token, right: Node) -> Node:
        return nodes.Not(cast("Condition", self.equal(left, sign, right)))

    def is_null(self, of: Node, *_: Token) -> Node:
        return nodes.IsNull(of)

    def is_not_null(self, of: Node, *_: Token) -> Node:
        return nodes.Not(nodes.IsNull(of))

    def ordered(self, left: Node, sign: Token, right: Node) -> Node:
        with _at(sign):
            return nodes.order_comparison(str(sign), left, right)

    def between(self, of: Node, word: Token, low: Node, _: Token, high: Node) -> Node:
        with _at(word):
            return nodes.between(of, low, high)

    def not_between(self, of: Node, word: Token, _between: Token, low: Node, _and: Token, high: Node) -> Node:
        with _at(word):
            return nodes.not_between(of, low, high)

    def one_of(self, of: Node, negated: Token | None, word: Token, *listed: Token) -> Node:
        texts = tuple(_content(token) for token in listed if token.type == "STRING")
        with _at(word):
            return nodes.one_of(of, texts, negated=negated is not None)

    def matches(self, of: Node, negated: Token | None, word: Token, literal: Token) -> Node:
        return nodes.Matches(word.type, of, _content(literal), negated is not None)

    def plus(self, _: Token, of: Node) -> Node:
        return of

    def minus(self, _: Token, of: Node) -> Node:
        return nodes.negated(of)

    def negation(self, word: Token, of: Node) -> Node:
        with _at(word, f"{_PARSER}.ParseException"):
            return nodes.Not(nodes.condition(of))

    def text(self, literal: Token) -> Node:
        return Constant(ValueKind.STRING, _content(literal), str(literal))

    def whole(self, literal: Token) -> Node:
        digits = literal.rstrip("lL")
        value = int(digits) if len(digits) <= _MOST_DIGITS else INT64_MAX + 1
        with _at(literal, "java.lang.NumberFormatException"):
            if value > INT64_MAX:
                raise NotAllowed(f'For input string: "{digits}"')
        return Constant(ValueKind.INT if value <= INT32_MAX else ValueKind.LONG, value, str(value))

    def decimal(self, literal: Token) -> Node:
        value = float(literal)
        with _at(literal):
            if value < _SMALLEST:
                raise NotAllowed(f"{literal} is less than 4.9E-324")
            if value == math.inf:
                raise NotAllowed(f"{literal} is greater than 1.7976931348623157E308")
        return Constant(ValueKind.DOUBLE, value, str(literal))

    def truth(self, word: Token) -> Node:
        return Truth({"TRUE": True, "FALSE": False}.get(word.type))

    def property(self, name: Token) -> Node:
        return Property(str(name))

    def inner(self, _open: Token, node: Node, _close: Token) -> Node:
        return node


def _joined(parts: tuple[Node | Token, ...], *, every: bool) -> Node:
    """Conditions joined by AND or OR; a single one is returned as it is."""
    if len(parts) == 1:
        return cast("Node", parts[0])
    with _at(cast("Token", parts[1]), f"{_PARSER}.ParseException"):
        return nodes.Logic(every, tuple(nodes.condition(cast("Node", part)) for part in parts[::2]))
