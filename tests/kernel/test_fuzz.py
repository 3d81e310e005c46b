"""The fuzzer's oracles on the inputs that it begins with, and on those that it found something with."""

import pytest

from tests.fuzz import corpus
from tests.kernel.fuzz import seeds
from tests.kernel.fuzz.oracles import ORACLES


@pytest.mark.parametrize("oracle", ORACLES)
def test_the_kernel_reads_real_requests_as_python_does(oracle: str) -> None:
    inputs = seeds.of(oracle)
    assert inputs
    for data in inputs:
        ORACLES[oracle](data)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ORACLES)
def test_the_kernel_reads_cut_requests_as_python_does(oracle: str) -> None:
    data = max(seeds.of(oracle), key=len)
    for end in range(len(data)):
        ORACLES[oracle](data[:end])


@pytest.mark.parametrize("oracle", ORACLES)
def test_every_oracle_has_words(oracle: str) -> None:
    assert seeds.WORDS[oracle]


@pytest.mark.parametrize("oracle", ORACLES)
def test_the_kernel_reads_what_the_fuzzer_kept_as_python_does(oracle: str) -> None:
    for data in corpus.inputs(f"kernel/{oracle}").values():
        ORACLES[oracle](data)
