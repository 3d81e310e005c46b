import pytest

from bench.choice import chosen
from bench.grpc import GRPC
from bench.timers import TIMERS
from bench.workloads import WORKLOADS


def names(only: str | None) -> list[str]:
    return [workload.name for workload in chosen(only)[0]]


def test_all_are_chosen_by_default() -> None:
    everything = frozenset({"start", "idle", "grpc-cost", "proxy"})
    assert chosen(None) == (list(WORKLOADS), everything, list(TIMERS), list(GRPC))


def test_a_whole_name_chooses_one_workload() -> None:
    assert names("pull") == ["pull"]
    assert names("java-sync-1") == ["java-sync-1"]


def test_the_beginning_of_names_means_all_of_them() -> None:
    assert names("java-sync") == ["java-sync-1", "java-sync-16", "java-sync-64"]
    assert names("send,java-l") == ["send-1x64", "send-8x32", "send-1k", "send-keys", "java-lite"]


def test_start_up_alone() -> None:
    assert chosen("start") == ([], frozenset({"start"}), [], [])
    assert chosen("idle") == ([], frozenset({"idle"}), [], [])
    assert chosen("sync").facts == frozenset()


def test_the_timer_alone() -> None:
    assert chosen("timer") == ([], frozenset(), list(TIMERS), [])
    assert [load.name for load in chosen("timer-m,sync").timers] == ["timer-minute"]


def test_the_front_for_5x_alone() -> None:
    assert chosen("grpc") == ([], frozenset({"grpc-cost"}), [], list(GRPC))
    assert chosen("grpc-wake").facts == frozenset()


def test_a_word_that_fits_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no workload begins with 'snd'"):
        chosen("snd")


def test_what_one_is_compared_with_is_measured_too() -> None:
    assert names("retry") == ["send-8x32", "retry"]


def test_many_connections_are_compared_with_few_of_the_same_pace() -> None:
    assert names("many-1000") == ["many-8", "many-1000"]
    assert names("many-1000-p") == ["many-8-paced", "many-1000-paced"]
