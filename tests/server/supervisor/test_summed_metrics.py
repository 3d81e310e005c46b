"""The metrics of several brokers as one text."""

from __future__ import annotations

import pytest

from rocketwire.server.supervisor.summed_metrics import summed


def text(kind: str, name: str, *samples: str) -> str:
    lines = [f"# HELP {name} Help.", f"# TYPE {name} {kind}", *(f"{name}{sample}" for sample in samples)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("kind", "name", "first", "second", "expected"),
    [
        ("counter", "x_total", " 1", " 2", " 3.0"),
        ("gauge", "x_bytes", " 1", " 2", " 3.0"),
        ("gauge", "x_lag_seconds", " 5", " 2", " 5.0"),
        ("counter", "x_cpu_seconds_total", " 5", " 2", " 7.0"),
        ("gauge", "x_used_ratio", " 0.5", " 0.7", " 0.7"),
        ("gauge", "rocketwire_topics", " 9", " 9", " 9.0"),
        ("gauge", "rocketwire_store_writable", " 1", " 0", " 0.0"),
        ("gauge", "rocketwire_build_info", '{version="1"} 1', '{version="1"} 1', '{version="1"} 1.0'),
    ],
)  # fmt: skip
def test_samples_are_joined_by_their_kind(kind: str, name: str, first: str, second: str, expected: str) -> None:
    joined = summed([text(kind, name, first), text(kind, name, second)]).decode()
    assert f"{name}{expected}" in joined.splitlines()


def test_samples_with_other_labels_stay_apart() -> None:
    first, second = text("gauge", "g", '{topic="a"} 1', '{topic="b"} 2'), text("gauge", "g", '{topic="b"} 4')
    lines = summed([first, second]).decode().splitlines()
    assert [each for each in lines if each[0] != "#"] == ['g{topic="a"} 1.0', 'g{topic="b"} 6.0']


def test_buckets_of_a_histogram_are_added() -> None:
    one = text("histogram", "h", '_bucket{le="1.0"} 1', '_bucket{le="+Inf"} 2', "_count 2", "_sum 3.5")
    lines = summed([one, one]).decode().splitlines()
    assert [each for each in lines if each[0] != "#"] == [
        'h_bucket{le="1.0"} 2.0',
        'h_bucket{le="+Inf"} 4.0',
        "h_count 4.0",
        "h_sum 7.0",
    ]
