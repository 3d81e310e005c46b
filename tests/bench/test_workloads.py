import pytest

from bench.workloads import WORKLOADS, chosen


def names(only: str | None) -> list[str]:
    return [workload.name for workload in chosen(only)[0]]


def test_all_are_chosen_by_default() -> None:
    assert chosen(None) == (list(WORKLOADS), True)


def test_a_whole_name_means_that_one_only() -> None:
    assert names("pull") == ["pull"]
    assert names("java-sync-1") == ["java-sync-1"]


def test_the_beginning_of_names_means_all_of_them() -> None:
    assert names("java-sync") == ["java-sync-1", "java-sync-16", "java-sync-64"]
    assert names("send,java-l") == ["send-1x64", "send-8x32", "send-1k", "send-keys", "java-lite"]


def test_start_up_alone() -> None:
    assert chosen("start") == ([], True)
    assert chosen("sync")[1] is False


def test_a_word_that_fits_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no workload begins with 'snd'"):
        chosen("snd")


def test_names_are_distinct() -> None:
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)
