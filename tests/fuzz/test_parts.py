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
        for path in corpus.files(name):
            try:
                check(path.read_bytes())
            except Exception as error:
                raise AssertionError(f"{path.name}: {path.read_bytes()!r}") from error


@pytest.mark.parametrize("name", parts.NAMES)
def test_the_corpus_is_small(name: str) -> None:
    sizes = [path.stat().st_size for path in corpus.files(name)]
    assert sizes
    assert max(sizes) <= parts.part(name).longest
    assert sum(sizes) <= corpus.MOST_BYTES
