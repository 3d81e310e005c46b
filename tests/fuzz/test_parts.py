"""Each part of the fuzzing on what it begins with and on its corpus: what the fuzzer reached, and what it found."""

import pytest

from tests.fuzz import corpus, parts


@pytest.mark.parametrize("name", parts.NAMES)
def test_what_the_fuzzer_begins_with(name: str) -> None:
    part = parts.part(name)
    seeds = set(part.seeds())
    assert seeds
    with part.opened() as check:
        for data in sorted(seeds):
            check(data)


@pytest.mark.parametrize("name", parts.NAMES)
def test_what_the_fuzzer_kept(name: str) -> None:
    with parts.part(name).opened() as check:
        for number, data in corpus.inputs(name).items():
            try:
                check(data)
            except Exception as error:
                raise AssertionError(f"{number}: {data!r}") from error


@pytest.mark.parametrize("name", parts.NAMES)
def test_the_corpus_is_small(name: str) -> None:
    sizes = [len(data) for data in corpus.inputs(name).values()]
    assert sizes
    assert max(sizes) <= parts.part(name).longest
    assert sum(sizes) <= corpus.MOST_BYTES
