"""`make spark-demo`: runs the pipeline of tools/spark_pipeline, and both notebooks; prints where the results are.

    python -m tools.spark_demo [FOLDER] [--format parquet|delta]

The pipeline's messages are the data of one notebook; the other one has the store of tools/demo_store.py. Notebooks run
in this process, cell by cell, as in Jupyter but without it. FOLDER (build/spark-demo) gets the pipeline's files and its
page, `index.html`; the store; the notebooks with their results, and their plots as PNG files; and Spark's output,
`spark.log`.
"""

from __future__ import annotations

import argparse
import ast
import base64
import contextlib
import io
import json
import os
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from tools import demo_store
from tools.spark_pipeline import running

_EXAMPLES: Final = Path(__file__).parents[1] / "docs" / "examples"
NOTEBOOK: Final = _EXAMPLES / "rocketmq-in-spark.ipynb"
PIPELINE_NOTEBOOK: Final = _EXAMPLES / "rocketmq-pipeline.ipynb"
_FOLDER: Final = Path("build/spark-demo")


def run(notebook: Path, folder: Path, *, plot: str = "plot") -> tuple[dict[str, Any], list[Path]]:
    """Run the cells of a notebook one after the other; the first error ends it.

    Args:
        notebook: It is not changed.
        folder: Gets the notebook with its results, and the plots.
        plot: What the names of the plots begin with.

    Returns:
        The variables that the cells left, and the PNG files.
    """
    mpl.use("Agg")
    found = json.loads(notebook.read_text(encoding="utf-8"))
    variables: dict[str, Any] = {"__name__": "__main__"}
    plots: list[Path] = []
    for number, cell in enumerate(one for one in found["cells"] if one["cell_type"] == "code"):
        cell["execution_count"] = number + 1
        cell["outputs"] = list(_outputs("".join(cell["source"]), variables, number + 1))
        for output in cell["outputs"]:
            if "image/png" in output.get("data", {}):
                path = folder / f"{plot}-{len(plots) + 1}.png"
                path.write_bytes(base64.b64decode(output["data"]["image/png"]))
                plots.append(path)
    (folder / notebook.name).write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")
    return variables, plots


def _outputs(source: str, variables: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """What a cell prints, the value of its last line, and its plots, as a notebook holds them."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        # plt.show() has nowhere to show anything: plots are taken below.
        warnings.filterwarnings("ignore", message=".*non-interactive.*")
        exec(compile(tree, f"cell {count}", "exec"), variables)  # noqa: S102 - it is the repository's own notebook
        if isinstance(last, ast.Expr):
            expression = compile(ast.Expression(last.value), f"cell {count}", "eval")
            value = eval(expression, variables)  # noqa: S307 - the same
    if printed.getvalue():
        yield {"output_type": "stream", "name": "stdout", "text": printed.getvalue()}
    if value is not None:
        html = getattr(value, "_repr_html_", lambda: None)()
        data = {"text/plain": repr(value)} | ({"text/html": html} if html else {})
        yield {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data}
    for number in plt.get_fignums():
        image = io.BytesIO()
        plt.figure(number).savefig(image, format="png", dpi=110)
        data = {"image/png": base64.b64encode(image.getvalue()).decode()}
        yield {"output_type": "display_data", "metadata": {}, "data": data}
    plt.close("all")


@contextlib.contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Have standard error, that of Spark's processes too, go to a file; after a failure print where it is."""
    kept = os.dup(sys.stderr.fileno())
    with log.open("wb") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    try:
        yield
    except Exception:
        os.dup2(kept, sys.stderr.fileno())
        print(f"what Spark said is in {log}", file=sys.stderr)
        raise
    finally:
        os.dup2(kept, sys.stderr.fileno())
        os.close(kept)


def main(folder: Path, *, delta: bool) -> None:
    """Run the pipeline, make the store, run the notebooks; print what is done, and the paths of the results."""
    began = time.monotonic()

    def report(text: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {text}", flush=True)

    folder.mkdir(parents=True, exist_ok=True)
    with _quiet(folder / "spark.log"):
        report("starting Spark")
        spark = running.session()
        running.run(spark, folder, report, delta=delta)
        report(f"the page is {folder / 'index.html'}")
        os.environ["ROCKETMQ_MESSAGES"] = str(folder / "messages")
        _, plots = run(PIPELINE_NOTEBOOK, folder, plot="pipeline")
        report(f"the pipeline's notebook with its results is {folder / PIPELINE_NOTEBOOK.name}")
        spark.catalog.clearCache()

        store = folder / "store"
        shutil.rmtree(store, ignore_errors=True)
        made = demo_store.make(store, np.random.default_rng(9))
        report(f"a store of one night, with {made.total():,} messages, is {store}")
        os.environ["ROCKETMQ_STORE"] = str(store)
        plots += run(NOTEBOOK, folder)[1]
        report(f"the store's notebook with its results is {folder / NOTEBOOK.name}")
        spark.stop()
    for plot in plots:
        print(f"a plot is {plot}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.spark_demo")
    parser.add_argument("folder", nargs="?", type=Path, default=_FOLDER, help="gets the results")
    parser.add_argument("--format", choices=("parquet", "delta"), default="parquet", help="of the pipeline's messages")
    given = parser.parse_args()
    main(given.folder, delta=given.format == "delta")
