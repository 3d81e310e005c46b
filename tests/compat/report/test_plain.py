from xml.etree.ElementTree import Element, fromstring, tostring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.compat.report.plain import cut, one_line, plain

ANY = st.text(st.characters(codec=None, exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("as it is: ü 消息 🚀\n\t\u2713", "as it is: ü 消息 🚀\n\t\u2713"),
        ("a\r\nb", "a\nb"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
        ("\x00\x7f\u2028\u202e\ud800\ufffe", "\\u0000\\u007f\\u2028\\u202e\\ud800\\ufffe"),
    ],
)
def test_odd_characters_are_seen(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(ANY)
def test_plain_text_is_plain_and_can_be_in_xml(text: str) -> None:
    shown = plain(text)
    assert plain(shown) == shown
    holder = Element("x", a=shown)
    holder.text = shown
    read = fromstring(tostring(holder, encoding="unicode").encode())
    assert (read.text or "") == shown
    assert read.get("a") == shown


@given(ANY, st.integers(1, 20))
def test_one_line_is_one_and_short(text: str, limit: int) -> None:
    shown = one_line(text, limit)
    assert len(shown) <= limit
    assert len(shown.splitlines()) <= 1


def test_cut_text_has_a_mark() -> None:
    assert cut("x" * 10, 10) == "x" * 10
    assert cut("a" * 25 + "b" * 2000 + "c" * 75, 100) == (
        "a" * 25 + "\n… 2,000 characters are cut here; results.json has them …\n" + "c" * 75
    )
