"""The search for bytes in C, as Python's."""

from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel

_letters = st.lists(st.sampled_from(b"POPK_CK\0"), max_size=40).map(bytes)


@given(_letters, _letters.map(lambda all_of_it: all_of_it[:6]) | st.just(b"POP_CK"))
@example(b"", b"")
@example(b"", b"P")
@example(b"POP_C", b"POP_CK")
@example(b"PPOPOP_CK", b"POP_CK")
def test_bytes_hold_what_python_finds_in_them(data: bytes, wanted: bytes) -> None:
    assert kernel.holds(data, wanted) == (wanted in data)
