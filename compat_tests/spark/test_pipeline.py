"""The pipeline of `make spark-demo`, small: each message comes once, and a browser shows its page without errors."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from compat_tests.browser_page import Page
from compat_tests.chromium import Browser
from rocketwire.testing import endpoint
from tools import spark_demo
from tools.spark_pipeline import running
from tools.spark_pipeline.load import KINDS

_SECONDS = 5.0
_ADAPTIVE = "spark.sql.adaptive.enabled"
_PHONE = 390
_JOB = spark_demo.PIPELINE_NOTEBOOK.with_name("rocketmq_to_parquet.py")
_PNG = b"\x89PNG"


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_the_pipeline_fills_the_page_and_the_notebook(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    reported: list[str] = []
    spark.conf.set(_ADAPTIVE, "false")  # as the demonstration has it
    try:
        found = running.run(spark, tmp_path, reported.append, seconds=_SECONDS, rate=200.0, delta=kind == "delta")
    finally:
        spark.conf.unset(_ADAPTIVE)
    assert 0 < found.acknowledged == found.rows == found.messages
    assert DeltaTable.is_deltatable(str(tmp_path / "messages")) == (kind == "delta")
    assert any("continues by its checkpoint" in line for line in reported)
    assert found.traffic.keys() == {kind.topic for kind in KINDS}
    assert {kind.group for kind in KINDS} >= found.retries.keys() >= {"ledger"}
    assert found.retried > found.dead
    assert all(line[-1] == 0 for line in found.lag.values())
    assert sum(count for *_, count in found.causes) == found.dead
    assert all(value is None or value >= 0 for line in found.stored.values() for value in line)

    monkeypatch.setenv("ROCKETMQ_MESSAGES", str(tmp_path / "messages"))
    try:
        variables, (plot,) = spark_demo.run(spark_demo.PIPELINE_NOTEBOOK, tmp_path, plot="pipeline")
    finally:
        spark.catalog.clearCache()
    overview = variables["overview"]
    assert (overview["rows"] == overview["messages"]).all()
    assert (overview["rows"] == overview["offsets"]).all()
    assert variables["traffic"]["count"].sum() == found.rows
    assert variables["late"]["messages"].sum() + found.dead == found.rows
    assert variables["dead"]["letters"].sum() == found.dead
    assert plot.stat().st_size > 10_000

    with Browser() as browser:
        for width, scheme in ((1280, "light"), (_PHONE, "dark")):
            page = Page(browser)
            page.prefer(color_scheme=scheme)
            page.resize(width, 844, phone=width == _PHONE)
            page.open((tmp_path / "index.html").as_uri())
            assert page.count("svg") >= 6
            assert page.text("dd") == f"{found.acknowledged:,}"
            assert page.evaluate("document.documentElement.scrollWidth") == width
            shot = tmp_path / f"{scheme}.png"
            page.screenshot(shot, whole=True)
            assert shot.read_bytes().startswith(_PNG)
            assert shot.stat().st_size > 30_000
            assert page.trouble() == []
            page.close()


def test_the_job_to_copy_writes_each_message_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with endpoint(topics=["Orders", "Payments", "Others"]) as ep:
        given = ["--namesrv", ep.namesrv, "--topics", "Orders,Payments", "--once"]
        given += ["--to", str(tmp_path / "to"), "--checkpoint", str(tmp_path / "checkpoint")]
        monkeypatch.setattr("sys.argv", [str(_JOB), *given])
        for body in ("first", "second"):
            for topic in ("Orders", "Payments", "Others"):
                ep.send(topic, body)
            runpy.run_path(str(_JOB), run_name="__main__")
    rows = spark.read.parquet(str(tmp_path / "to")).selectExpr("topic", "decode(body, 'UTF-8')").collect()
    assert sorted(tuple(row) for row in rows) == [
        (topic, body) for topic in ("Orders", "Payments") for body in ("first", "second")
    ]
