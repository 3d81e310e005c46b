"""What msgspec takes for a number or a boolean and Java does not is found; what both read is not."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.fast_texts import OddTexts
from rocketwire.wire.headers import WireHeader, decode_ext
from rocketwire.wire.java import Int64

odd = OddTexts("truth")


class Fields(WireHeader, frozen=True, kw_only=True):
    """One of each kind."""

    number: Int64 = -7
    perhaps: Int64 | None = None
    truth: bool = False


decode = msgspec.json.Decoder(Fields, strict=False).decode
texts = st.from_regex(r"[-+]?[0-9]{0,3}([.eE][-+0-9]{0,3})?|null|true|TRUE|[01]", fullmatch=True)


@given(
    st.dictionaries(st.sampled_from(["number", "perhaps", "truth"]), texts), st.sampled_from([(",", ":"), (", ", ": ")])
)
def test_what_is_not_odd_is_read_as_java_reads_it(ext: dict[str, str], separators: tuple[str, str]) -> None:
    data = msgspec.json.encode(ext).replace(b",", separators[0].encode()).replace(b":", separators[1].encode())
    try:
        found = decode(data)
    except msgspec.ValidationError:
        return
    if not odd(data, true=found.truth):
        assert found == decode_ext(Fields, ext)


@pytest.mark.parametrize("text", ["1e0", "-1E2", "1.0", "null"])
@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_numbers_of_msgspec_alone_are_odd(text: str, blank: str) -> None:
    assert odd(f'{{"number":{blank}"{text}"}}'.encode(), true=False)


def test_a_one_is_odd_where_a_boolean_is_asked_for() -> None:
    assert odd(b'{"truth":"1"}', true=True)
    assert odd(b'{"truth" : "1"}', true=True)
    assert not odd(b'{"truth":"true","number":"1"}', true=True)
    assert not odd(b'{"number":"1"}', true=False)


@pytest.mark.parametrize("text", ["1", "-1", "17", "+1e0", "x1e0", "e", "nullx"])
def test_others_are_not_odd(text: str) -> None:
    assert not odd(f'{{"number":"{text}"}}'.encode(), true=False)
