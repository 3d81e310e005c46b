"""The fast rewriting of properties and batches against the declared one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire import stored_properties
from rocketwire.wire.batch import BatchItem, decode_batch, encode_batch
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import decode_properties, encode_properties

int32 = st.integers(-(2**31), 2**31 - 1)

property_name = st.sampled_from(
    ["UNIQ_KEY", "WAIT", "TAGS", "KEYS", "CLUSTER", "DELAY", "TRAN_MSG", "a", "名"]
) | st.text(st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=8)
property_value = st.sampled_from(["true", "false", "TagA", "k1 k2"]) | st.text(
    st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=12
)


@given(st.dictionaries(property_name, property_value, max_size=8), st.booleans())
def test_stored_properties_are_the_clients_less_wait_plus_cluster(client: dict[str, str], trailing: bool) -> None:
    sent = encode_properties(client) + ("\x02" if trailing and client else "")
    stored = stored_properties.stored_properties(sent, "CLUSTER\x01c1")
    expected = {name: value for name, value in decode_properties(sent).items() if name != "WAIT"} | {"CLUSTER": "c1"}
    assert decode_properties(stored.data.decode()) == expected
    assert stored.unique_key == client.get("UNIQ_KEY")
    assert stored.keys == client.get("KEYS")
    assert stored.tags == client.get("TAGS")
    assert stored.wait == client.get("WAIT")
    steering = {name: value for name, value in client.items() if name in stored_properties.STEERING_NAMES}
    assert decode_properties(stored.steering) == steering


@given(st.lists(st.tuples(int32, st.binary(max_size=30), st.dictionaries(property_name, property_value, max_size=8))))
def test_a_batch_reads_as_the_general_decoder_reads_it(sent: list[tuple[int, bytes, dict[str, str]]]) -> None:
    body = encode_batch([BatchItem(flag, data, encode_properties(own).encode()) for flag, data, own in sent])
    found = stored_properties.batch_messages(body)
    assert [(each.flag, each.body, each.properties) for each in found] == decode_batch(body)
    for message, (_, _, own) in zip(found, sent, strict=True):
        assert (message.unique_key, message.keys, message.tags) == (
            own.get("UNIQ_KEY"),
            own.get("KEYS"),
            own.get("TAGS"),
        )
        assert message.steering is bool(stored_properties.STEERING_NAMES & own.keys())


def test_items_without_name_or_value_are_dropped() -> None:
    stored = stored_properties.stored_properties("empty\x01\x02\x01value\x02nothing\x02a\x01b", "CLUSTER\x01c")
    assert stored.data == b"a\x01b\x02CLUSTER\x01c"
    assert stored_properties.stored_properties("", "CLUSTER\x01c").data == b"CLUSTER\x01c"


@pytest.mark.parametrize(
    ("text", "stored"),
    [  # as a 4.9.7 broker stored them
        ("", "CLUSTER=c"),
        ("WAIT=true", "CLUSTER=c;WAIT=true"),
        ("WAIT=true;", "CLUSTER=c;WAIT=true"),
        ("UNIQ_KEY=X;WAIT=true;AAA=b;", "AAA=b;UNIQ_KEY=X;CLUSTER=c;WAIT=true"),
        ("zeta=;WAIT=false;alpha=1", "alpha=1;CLUSTER=c;WAIT=false"),
        ("A=b;A=c;", "A=c;CLUSTER=c"),
        ("bad;WAIT=true", "CLUSTER=c;WAIT=true"),
        ("CLUSTER=mine;", "CLUSTER=c"),
        ("a=b=c;", "a=b=c;CLUSTER=c"),
    ],
)
def test_the_properties_of_a_whole_batch_are_put_in_apaches_order(text: str, stored: str) -> None:
    sent, wanted = (each.replace("=", "\x01").replace(";", "\x02") for each in (text, stored))
    assert stored_properties.batch_properties(sent, "CLUSTER\x01c").data == wanted.encode()


def test_tag_codes_are_java_hashes() -> None:
    assert [stored_properties.tags_code(tag) for tag in (None, "", "A", "标签")] == [0, 0, 65, string_hash("标签")]
