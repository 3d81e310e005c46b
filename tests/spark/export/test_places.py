"""Names of folders and files of an export."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.errors import ExportImpossible
from rocketwire.spark.export.places import NO_VALUE, file_name, folder, values


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("Orders", "topic=Orders"),
        ("%RETRY%g", "topic=%25RETRY%25g"),
        ("a/b=c:d", "topic=a%2Fb%3Dc%3Ad"),
        ("..", "topic=.."),
        ("_x|y", "topic=_x|y"),
        ("tab\there", "topic=tab%09here"),
        ("Grüße", "topic=Grüße"),
    ],
)
def test_a_topic_is_a_folder_that_hive_reads(topic: str, name: str) -> None:
    assert folder(topic, "2026-01-31") == f"{name}/day=2026-01-31"


def test_a_topic_too_long_for_a_folder_is_refused() -> None:
    assert len(folder("x" * 249, "d").split("/")[0]) == 255
    with pytest.raises(ExportImpossible, match="too long"):
        folder("%" * 127, "2026-01-31")


def test_files_are_named_by_broker_and_span() -> None:
    names = {file_name(broker, 0, end, part) for broker in ("a", "b") for end in (10, 20) for part in (0, 1)}
    assert len(names) == 8
    assert file_name("a", 7, 9, 0).endswith("-00000000000000000007-00000000000000000009-0.parquet")


@given(st.text(min_size=1, max_size=40), st.sampled_from(["2026-01-31", NO_VALUE]))
def test_topic_and_day_can_be_read_again(topic: str, day: str) -> None:
    assert values(f"{folder(topic, day)}/file.parquet") == (topic, None if day == NO_VALUE else day)
