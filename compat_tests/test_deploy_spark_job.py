"""deploy/kubernetes/spark-job.yaml: the manifests are valid, and give the example job what it takes.

No cluster runs them here; compat_tests/spark/test_pipeline.py runs the job.
"""

from __future__ import annotations

import re
from typing import Final

import pytest

from compat_tests.manifests import VERSIONS, check, manifests
from compat_tests.readme import ROOT

pytestmark = pytest.mark.usefixtures("only_rocketwire")

JOB: Final = ROOT / "docs" / "examples" / "rocketmq_to_parquet.py"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_manifests_are_valid(version: str) -> None:
    assert manifests("spark-job.yaml").keys() == {"PersistentVolumeClaim", "CronJob"}
    check("spark-job.yaml", version)


def test_the_job_gets_its_file_its_options_and_its_folders() -> None:
    found = manifests("spark-job.yaml")
    pod = found["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert mounts.keys() == {each["name"] for each in pod["volumes"]}
    (claim,) = (each["persistentVolumeClaim"] for each in pod["volumes"] if "persistentVolumeClaim" in each)
    assert claim["claimName"] == found["PersistentVolumeClaim"]["metadata"]["name"]

    at = container["args"].index(f"{mounts['job']}/{JOB.name}")
    options = re.findall(r'add_argument\("(--\w+)"(.*)\)', JOB.read_text("utf-8"))
    given = [each for each in container["args"][at + 1 :] if each.startswith("--")]
    assert {name for name, rest in options if "required=True" in rest} <= set(given) <= {name for name, _ in options}
    values = dict(zip(container["args"], container["args"][1:], strict=False))
    assert all(values[name].startswith(mounts["messages"]) for name in ("--to", "--checkpoint"))
    service = manifests("rocketwire.yaml")["Service"]
    port = {each["name"]: each["port"] for each in service["spec"]["ports"]}["namesrv"]
    assert values["--namesrv"] == f"{service['metadata']['name']}:{port}"


def test_nothing_but_volumes_is_written_and_no_two_jobs_run_at_once() -> None:
    job = manifests("spark-job.yaml")["CronJob"]["spec"]
    pod = job["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert job["concurrencyPolicy"] == "Forbid"
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert {"name": "scratch", "emptyDir": {}} in pod["volumes"]
