"""Peak memory of a fit on CSR data, each in a process of its own."""

from __future__ import annotations

from benchmarks.measured_fit import measure
from benchmarks.page import Page, figure, yes

GOAL = 3.0  # times the data


def run(page: Page, quick: bool) -> None:
    page.say(
        "\n## Memory of a fit\n\n"
        "Sparse rows (CSR, 10 entries a row, 100 columns), demographic parity 0.02 on counted rates. "
        "*added*: the peak above what the process held before the fit, the second one of these rows."
    )
    page.table("rows", "data MB", "added MB", "x data", "seconds", "counted gap", "holds")
    for n in (100_000,) if quick else (100_000, 1_000_000):
        fit = measure(n, 100)
        ratio = fit["added"] / fit["data"]
        page.row(
            n, f"{fit['data'] / 1e6:.0f}", f"{fit['added'] / 1e6:.0f}", f"{ratio:.2f}",
            figure(fit["seconds"]), f"{fit['gap']:.4f}", yes(fit["gap"] <= 0.02 + 1e-12),
        )  # fmt: skip
        page.goal(f"{n} x 100: memory added by the fit, x data", ratio, GOAL)
