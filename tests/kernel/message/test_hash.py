"""Java's hash of a string in C as wire.java computes it."""

from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.wire.java import string_hash

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.text(
    st.characters(max_codepoint=127), max_size=60
)


@given(texts)
@example("")
@example("polygenelubricants")
@example("12345678é12345678")
@example("￿\U00010000\U0010ffff")
def test_a_hash_is_java_s(text: str) -> None:
    assert kernel.java_hash(text.encode()) == string_hash(text)


@given(texts, texts)
def test_a_hash_goes_on_from_that_of_the_text_before(text: str, more: str) -> None:
    assert kernel.java_hash(more.encode(), string_hash(text)) == string_hash(text + more)


@given(st.binary(max_size=20))
def test_bytes_that_are_no_text_have_some_hash(data: bytes) -> None:
    assert -(2**31) <= kernel.java_hash(data) < 2**31
