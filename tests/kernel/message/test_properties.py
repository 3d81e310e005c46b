"""Property texts in C as wire.stored_properties rewrites and reads them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.server.send.drafts import _waits
from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.facts import properties as names
from rocketwire.wire.stored_properties import STEERING_NAMES, batch_messages, stored_properties

KNOWN = [names.UNIQ_KEY, names.KEYS, names.TAGS, names.WAIT, names.CLUSTER, *sorted(STEERING_NAMES)]
#: Every name of the protocol: none of them but STEERING_NAMES may steer.
ALL_NAMES = sorted({value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)})
NEAR = ["", "TAG", "TAGSS", "tags", "UNIQ_KEZ", "KEYS ", "WAITS", "DELAZ", "CLUSTEŔ", "a", "é", "TAGS\0"]
CLUSTER_ITEM = "CLUSTER\x01DefaultCluster"

plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), max_size=20)
values = st.sampled_from(["true", "false", "TRUE", "tRuE", "t", "", "\0", "TagA", "0123456789ABCDEF" * 2]) | plain
items = st.builds(
    lambda name, sep, value: name + sep + value,
    st.sampled_from(KNOWN) | st.sampled_from(NEAR) | plain,
    st.sampled_from(["\x01", "\x01", "\x01", "", "\x01\x01"]),
    values,
)
texts = st.lists(items, max_size=8).map("\x02".join) | st.text(
    st.sampled_from("\0\x01\x02\x03TAGSWIé漢😀"), max_size=40
)
broker_texts = st.just(CLUSTER_ITEM) | plain.map(lambda name: f"CLUSTER\x01{name}".replace("\0", ""))


def text_of(found: bytes | None) -> str | None:
    return None if found is None else found.decode()


@given(texts, broker_texts)
@example("", CLUSTER_ITEM)
@example("\x02", CLUSTER_ITEM)
@example("TAGS\x01a\x02TAGS\x01b\x02TAGS\x01", CLUSTER_ITEM)
@example("CLUSTER\x01mine\x02a\x01b", CLUSTER_ITEM)
@example("WAIT\x01\0\x02a\x01b\x02", CLUSTER_ITEM)
def test_a_text_is_rewritten_as_python_rewrites_it(text: str, broker_items: str) -> None:
    expected = stored_properties(text, broker_items)
    data, unique_key, keys, tags, wait, steering, nul = kernel.rewrite_properties(text.encode(), broker_items.encode())
    assert data == expected.data
    assert (text_of(unique_key), text_of(keys), text_of(tags)) == (expected.unique_key, expected.keys, expected.tags)
    assert steering == bool(expected.steering)
    assert nul == (0 in expected.data)
    assert (wait is None) == (expected.wait is None)
    assert wait is not False or not _waits(expected.wait)
    assert wait is not True or _waits(expected.wait)


@pytest.mark.parametrize("name", ALL_NAMES)
@pytest.mark.parametrize("spelling", ["{}", "{}x", "x{}"])
def test_the_names_that_steer_are_those_of_python(name: str, spelling: str) -> None:
    spelt = spelling.format(name)
    text = f"{spelt}\x013".encode()
    assert kernel.rewrite_properties(text, b"")[5] == (spelt in STEERING_NAMES)
    # A text that the kernel would store as it is: Python takes POP_CK out.
    assert kernel.look_at_properties(text)[5] == (spelt in STEERING_NAMES or spelt == names.POP_CK)


def test_every_name_that_steers_is_a_name_of_the_protocol() -> None:
    assert set(ALL_NAMES) >= STEERING_NAMES


@given(texts)
@example("TAGS\x01a\x02TAGS")
@example("DELAY\x01\x02KEYS\x01a b")
def test_a_text_is_read_as_python_reads_a_message_of_a_batch(text: str) -> None:
    (expected,) = batch_messages(encode_batch([BatchItem(0, b"", text.encode())]))
    data, unique_key, keys, tags, wait, steering, nul = kernel.look_at_properties(text.encode())
    assert data == text.encode()
    assert (text_of(unique_key), text_of(keys), text_of(tags)) == (expected.unique_key, expected.keys, expected.tags)
    assert wait is None
    assert steering == expected.steering
    assert nul == ("\0" in text)
