import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.config.java_properties import (
    JavaPropertiesInvalid,
    format_java_properties,
    parse_java_properties,
)

# Any text without half a surrogate pair, which no file holds.
texts = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("brokerName=a", {"brokerName": "a"}),
        ("brokerName = a\n", {"brokerName": "a"}),
        ("brokerName:a", {"brokerName": "a"}),
        ("brokerName a", {"brokerName": "a"}),
        ("brokerName\t=\ta b ", {"brokerName": "a b "}),
        ("a==b", {"a": "=b"}),
        ("a : = b", {"a": "= b"}),
        ("a", {"a": ""}),
        ("=a", {"": "a"}),
        ("# x=1\n  ! y=2\n\nz=3", {"z": "3"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1,\\\n    2,\\\r\n  3\nb=4", {"a": "1,2,3", "b": "4"}),
        ("# no \\\na=1", {"a": "1"}),
        ("a=1\\\n# 2", {"a": "1# 2"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("\\\na=1", {"a": "1"}),
        ("\\", {}),
        ("a\\ b\\=\\:=c", {"a b=:": "c"}),
        ("a=\\t\\n\\r\\f\\q", {"a": "\t\n\r\fq"}),
        ("a=\\u4e2D\\u6587", {"a": "中文"}),
        ("a=\\ud83d\\ude80", {"a": "🚀"}),
        ("a=1\nb=2\na=3", {"b": "2", "a": "3"}),
    ],
)
def test_the_rules_of_java_apply(text: str, expected: dict[str, str]) -> None:
    found = parse_java_properties(text)
    assert found == expected
    assert list(found) == list(expected)


def test_an_incomplete_escape_is_refused_with_its_line() -> None:
    with pytest.raises(JavaPropertiesInvalid, match="four hexadecimal digits"):
        parse_java_properties("a=1\nb=\\u12x4\n")


@given(st.dictionaries(texts.filter(bool), texts))
def test_written_properties_are_read_unchanged(properties: dict[str, str]) -> None:
    text = format_java_properties(properties)
    assert text.isascii()
    assert parse_java_properties(text) == properties


def test_plain_values_are_written_without_escapes() -> None:
    properties = {"brokerName": "broker-a", "note": " a = b", "a key": "1"}
    expected = "brokerName=broker-a\nnote=\\ a = b\na\\ key=1\n"
    assert format_java_properties(properties) == expected
