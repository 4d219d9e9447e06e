"""Time and memory of a whole fit against the rows and the columns of sparse data.

    python -m benchmarks.scaling [--quick] [--write]

Every size runs in a process of its own. The exponents are slopes of least-squares lines in log-log.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.generated import dense_rows
from benchmarks.measured_fit import measure
from benchmarks.page import Page, facts, figure, yes
from benchmarks.scaling_plot import draw
from equipoise import ConstrainedClassifier, demographic_parity

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)  # x 100 columns
COLUMNS = (10, 100, 1_000, 10_000, 100_000)  # x 20,000 rows
EXPONENT, MEMORY = 1.1, 3.0
LARGE = 10_000  # rows from where fixed costs no longer count
MANY = 10_000  # columns beyond which a few vectors of parameters are more than the data
OUTPUT = Path(__file__).parents[1] / "docs" / "scaling.md"


def exponent(sizes, values) -> float:
    """The slope of log(values) over log(sizes)."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def curve(page, sizes):
    """Print one curve over (n, d).

    Returns seconds, time per product, added memory / data, and LogisticRegression's / data.
    """
    page.table(
        "rows", "columns", "seconds", "products", "ms a product", "data MB", "first MB", "added MB",
        "x data", "plain, x data", "counted gap", "holds",
    )  # fmt: skip
    found = []
    for n, d in sizes:
        fit = measure(n, d, repeats=3 if n <= 100_000 else 1)
        each, ratio = fit["seconds"] / fit["products"], fit["added"] / fit["data"]
        page.row(
            n, d, figure(fit["seconds"]), fit["products"], figure(1e3 * each),
            figure(fit["data"] / 1e6), figure(fit["first"] / 1e6), figure(fit["added"] / 1e6),
            figure(ratio), figure(fit["plain"] / fit["data"]),
            f"{fit['gap']:.4f}", yes(fit["gap"] <= 0.02 + 1e-12),
        )  # fmt: skip
        found.append((fit["seconds"], each, ratio, fit["plain"] / fit["data"]))
    return np.array(found).T


def kernels(page, n: int, d: int = 100) -> None:
    """Print what single precision and threads do for a dense fit."""
    X, y, groups = dense_rows(n, d)
    page.say(
        f"\n## Precision and threads\n\n{n} x {d} dense rows. float32 features stay float32 (half the "
        f"memory) and are solved to 1e-4. *chosen*: the fit tries products with one BLAS thread and "
        f"with all, and takes what is faster here; sparse and small data get one."
    )
    page.table("features", "threads", "seconds", "x float64, 1", "residual", "counted gap", "holds")
    first = None
    for dtype in (np.float64, np.float32):
        data = X.astype(dtype)
        for threads in ("1", "chosen"):
            best = np.inf
            for _ in range(3):
                with threadpool_limits(1) if threads == "1" else nullcontext():
                    start = time.perf_counter()
                    model = ConstrainedClassifier(demographic_parity(0.02)).fit(data, y, groups)
                    best = min(best, time.perf_counter() - start)
            first = first or best
            predicted = model.predict(data)
            gap = abs(predicted[groups == "a"].mean() - predicted[groups == "b"].mean())
            page.row(
                np.dtype(dtype).name, threads, figure(best), figure(best / first),
                f"{model.certificate_.residual:.1e}", f"{gap:.4f}", yes(gap <= 0.02 + 1e-12),
            )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="up to 30,000 rows, 10,000 columns")
    parser.add_argument("--write", action="store_true", help=f"write {OUTPUT.name}")
    arguments = parser.parse_args()
    rows = np.array(ROWS[:4] if arguments.quick else ROWS)
    columns = np.array(COLUMNS[:4] if arguments.quick else COLUMNS)
    page = Page("How cost grows", "make scaling")
    page.say(
        facts("equipoise", "numpy", "scipy") + (". **A quick run.**" if arguments.quick else ".")
    )
    page.say(
        "\nA whole `ConstrainedClassifier(demographic_parity(0.02)).fit` on generated sparse rows (CSR, 10 "
        "entries a row), the bound met on counted rates. *added*: peak memory above what the process "
        "held before the fit, and as a multiple of the data; *first*: the same for the first fit of these "
        "rows in the process, which also loads code and lets BLAS take its work space; *plain*: added by "
        "scikit-learn's LogisticRegression."
    )
    page.say(
        f"\n![time and memory over rows and columns]({OUTPUT.stem}.svg)\n\nTop: rows, 100 columns; bottom: "
        f"columns, 20,000 rows. The line is {MEMORY:g} times the data."
    )
    page.say("\n## Rows")
    over_rows = curve(page, [(n, 100) for n in rows])
    seconds, each, ratio, _ = over_rows
    large = rows >= LARGE
    page.say(
        f"\nExponent of the time in n: {exponent(rows, seconds):.2f} over all sizes, "
        f"{exponent(rows[large], seconds[large]):.2f} from {LARGE} rows on; of the time per product "
        f"{exponent(rows[large], each[large]):.2f}. What is added are "
        "mostly vectors over the rows, whatever the columns: rows of few numbers, or in single precision, "
        "add more times themselves; integers and data that are not stored by rows are copied once."
    )
    page.goal("exponent of the time in n", exponent(rows, seconds), EXPONENT)
    page.goal(f"the same, from {LARGE} rows on", exponent(rows[large], seconds[large]), EXPONENT)
    page.goal(f"memory added, x data, {rows.min()} to {rows.max()} rows", ratio.max(), MEMORY)
    page.say("\n## Columns")
    over_columns = curve(page, [(20_000, d) for d in columns])
    seconds, each, ratio, plain = over_columns
    few = columns <= MANY
    page.goal(f"memory added, x data, up to {MANY} columns", ratio[few].max(), MEMORY)
    if not few.all():
        page.goal(f"memory added, x data, {columns.max()} columns", ratio[-1], MEMORY)
        page.goal(
            f"memory added, x LogisticRegression's, {columns.max()} columns",
            ratio[-1] / plain[-1],
            1.0,
        )
    page.say(
        f"\nExponent of the time in d: {exponent(columns, seconds):.2f}; of the time per product "
        f"{exponent(columns, each):.2f}. The entries a row stay the same, so the data do not grow; the "
        f"memory added does, by the vectors of parameters that the method keeps."
    )
    kernels(page, 20_000 if arguments.quick else 200_000)
    page.summary()
    if arguments.write:
        page.write(OUTPUT)
        curves = {"rows": (rows, over_rows), "columns": (columns, over_columns)}
        draw(OUTPUT.with_suffix(".svg"), curves, MEMORY)


if __name__ == "__main__":
    main()
