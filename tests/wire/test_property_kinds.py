"""Properties that are parted are those that the general decoder reads."""

from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.wire.properties import decode_properties
from rocketwire.wire.property_kinds import parted

names = st.sampled_from(["UNIQ_KEY", "KEYS", "A_KEYS", "TAGS", "UNIQ_KEYS", "X", "", "SUNIQ_KEY"])
items = st.tuples(names, st.sampled_from(["", "v", "k1 k2", "UNIQ_KEY", "KEYS\x01x"])).map("\x01".join)
texts = st.lists(items | st.sampled_from(["", "UNIQ_KEY", "KEYS"]), max_size=6).map("\x02".join)


@given(texts)
@example("UNIQ_KEY\x01u\x02KEYS\x01k")
@example("KEYS\x01k\x02UNIQ_KEY\x01u")
@example("a\x01b\x02UNIQ_KEY\x01u\x02c\x01d\x02KEYS\x01k\x02e\x01f\x02")
@example("a\x01b\x02UNIQ_KEY\x01u")
@example("KEYS\x01k")
def test_parts_are_those_of_the_whole(text: str) -> None:
    whole = decode_properties(text)
    unique_key, keys, others = parted(text.encode())
    assert (unique_key, keys) == (whole.pop("UNIQ_KEY", None), whole.pop("KEYS", None))
    rest = decode_properties(others.decode())
    assert {name: value for name, value in rest.items() if name not in ("UNIQ_KEY", "KEYS")} == whole


def test_messages_of_one_kind_have_the_same_others() -> None:
    one, other = (f"a\x01b\x02UNIQ_KEY\x01{key}\x02KEYS\x01{key}\x02TAGS\x01t".encode() for key in ("1", "22"))
    assert parted(one).others == parted(other).others == b"a\x01b\x02TAGS\x01t"


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert parted(b"UNIQ_KEY\x01\xff\x02a\x01b").unique_key == "\ufffd"
    assert parted(b"a\x01b\x02UNIQ_KEY\x01\xff\x02a\x01b").unique_key == "\ufffd"
