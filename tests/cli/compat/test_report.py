import json
from pathlib import Path

import pytest

from rocketwire.cli import main
from rocketwire.compat.results import Outcome, Results, from_json
from tests.compat.report.examples import large, small

FILES = ["results.json", "report.html", "junit.xml", "summary.md", "badge.svg"]


def saved(path: Path, results: Results) -> str:
    path.write_bytes(results.to_json())
    return str(path)


def test_all_files_are_written_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = small(Outcome.PASS, Outcome.FLAKY, Outcome.NOT_OFFERED)
    out = tmp_path / "a" / "out"
    assert main(["compat", "report", saved(tmp_path / "r.json", results), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines() == ["100 %: 2 of 2 passed", *(str(out / name) for name in FILES)]
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    assert from_json((out / "results.json").read_bytes()) == results


@pytest.mark.parametrize("outcome", [Outcome.DIFFERS, Outcome.FAILS, Outcome.NOT_OFFERED])
def test_exit_code_1_if_something_did_not_pass_or_nothing_ran(tmp_path: Path, outcome: Outcome) -> None:
    file = saved(tmp_path / "r.json", small(outcome))
    assert main(["compat", "report", file, "--out", str(tmp_path / "out")]) == 1


def test_several_files_make_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = large(clients=2, bad=0.0, reference=False)
    files = []
    for client in whole.clients:
        own = [each for each in whole.results if each.client == client.id]
        part = Results(
            **{name: getattr(whole, name) for name in whole.__struct_fields__}
            | {"clients": (client,), "results": tuple(own)}
        )
        files.append(saved(tmp_path / f"{client.id}.json", part))
    out = tmp_path / "out"
    assert main(["compat", "report", *files, "--out", str(out), "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["percent"] == 100
    assert reported["counts"]["pass"] == reported["passed"] == reported["offered"] > 200
    assert reported["files"] == [str(out / name) for name in FILES]
    found = from_json((out / "results.json").read_bytes())
    assert found.clients == whole.clients
    assert {each.client for each in found.results} == {"java-4.4.0", "java-4.9.7"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file or directory"),
        (b"{", "Input data was truncated"),
        (b'{"schema": "other"}', "the field `schema` is 'other', not 'rocketwire-compat-1'"),
    ],
)
def test_a_file_that_is_no_results_is_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, said: str
) -> None:
    file = tmp_path / "r.json"
    if content is not None:
        file.write_bytes(content)
    assert main(["compat", "report", str(file), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"rocketwire: {file}: {said}\n"
    assert not (tmp_path / "out").exists()


def test_results_of_two_endpoints_are_not_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = saved(tmp_path / "1.json", small(Outcome.PASS))
    other = saved(tmp_path / "2.json", small(Outcome.PASS, endpoint="Apache RocketMQ 5.5.0"))
    assert main(["compat", "report", one, other, "--out", str(tmp_path / "out")]) == 2
    expected = "these are results of different endpoints: Apache RocketMQ 5.5.0, rocketwire 0.1.0"
    assert capsys.readouterr().err == f"rocketwire: {expected}\n"


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(tmp_path / "r.json", small(Outcome.PASS))
    assert main(["compat", "report", file, "--out", f"{file}/out"]) == 1
    assert capsys.readouterr().err == f"rocketwire: {file}/out: Not a directory\n"
