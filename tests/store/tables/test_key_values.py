from pathlib import Path

import pytest

from rocketwire.store.errors import ConfigInvalid
from rocketwire.store.tables.key_values import KeyValueFile


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    file = KeyValueFile(tmp_path / "config" / "kvConfig.json")
    assert file.load() == {}
    with pytest.raises(StopIteration) as done:
        next(file.encode({"ORDER_TOPIC_CONFIG": {"TA": "broker-a:4"}, "空": {}}))
    file.write(done.value.value)
    assert file.load() == {"ORDER_TOPIC_CONFIG": {"TA": "broker-a:4"}, "空": {}}


def test_apaches_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kvConfig.json"
    path.write_text('{"configTable":{"ORDER_TOPIC_CONFIG":{"TA":"broker-a:4"}}}', encoding="utf-8")
    assert KeyValueFile(path).load() == {"ORDER_TOPIC_CONFIG": {"TA": "broker-a:4"}}


@pytest.mark.parametrize("text", ["[]", '{"configTable":[]}', '{"configTable":{"a":1}}', "{"])
def test_another_text_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kvConfig.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigInvalid):
        KeyValueFile(path).load()
