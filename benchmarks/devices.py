"""Fits whose rows are a tensor on an accelerator, measured in passes over the data.

    python -m benchmarks.devices [--rows N] [--columns D] [--device cuda] [--write]

A *pass* is half the time of a copy of the features within the device: reading them once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.page import Page, facts, figure
from equipoise import (
    ConstrainedClassifier,
    __version__,
    demographic_parity,
    equalized_odds,
    solve,
)
from equipoise.constraints import bind_table
from equipoise.models import LinearUnits
from equipoise.problems import LearningProblem
from equipoise.rows import DeviceTable, column_scales
from equipoise.torch import ConstrainedOptimizer

BOUND = 0.001  # active at the solution
GOALS = {"value and gradient": 4.0, "solve to 1e-4": 60.0}  # passes
FIT_SECONDS, OVERHEAD = 1.5, 1.3
ROUNDS = 15  # of these, for either loop; the host that starts the work may be busy in some
OUTPUT = Path(__file__).parents[1] / "docs" / "devices.md"


class Rows:
    """Generated rows: two groups whose share of the positive class differs."""

    def __init__(self, n: int, d: int, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.X = torch.randn(n, d, device=device)
        self.groups = (torch.rand(n, device=device) < 0.4).long()
        noise = torch.logit(torch.rand(n, device=device).clamp(1e-6, 1 - 1e-6))
        weights = torch.randn(d, device=device) / d**0.5
        self.y = (self.X @ weights + 0.8 * self.groups - 0.4 + noise > 0).long()
        self.X[:, 0] += self.groups

    def wait(self) -> None:
        """Wait until the device has done what it was asked to."""
        if self.device != "cpu":
            torch.accelerator.synchronize()

    def seconds(self, call: Callable[[], Any], times: int = 5) -> float:
        """Return the least time of several calls, after one that is not counted."""
        call()
        found = []
        for _ in range(times):
            self.wait()
            start = time.perf_counter()
            call()
            self.wait()
            found.append(time.perf_counter() - start)
        return min(found)


def measured(rows: Rows) -> Iterator[tuple[str, float, float, str]]:
    """Yield what was measured: its name, seconds, passes, and what came out."""
    once = _copy(rows) / 2
    yield "one pass", once, 1.0, f"{rows.X.nbytes / once / 1e9:.0f} GB/s read"
    held = DeviceTable(rows.y, rows.X, rows.groups)
    units = LinearUnits(held.n_columns, True, *column_scales("devices", held))
    binding = bind_table(demographic_parity(BOUND), held)

    def problem() -> LearningProblem:
        sums = held.row_sums(units, binding.specs)
        return LearningProblem(sums, binding.combination, l2=1 / held.n_rows)

    points = np.random.default_rng(0).normal(size=(64, units.dim)) * 0.1
    ready, turn, ones = problem(), iter(points), np.ones(binding.combination.n_constraints + 1)
    both = rows.seconds(lambda: ready.at(next(turn)).vjp(ones), 20)
    yield "value and gradient", both, both / once, "all functions, one weighted gradient"
    product = rows.seconds(lambda: ready.at(points[0]).hvp(ones, next(turn)), 20)  # type: ignore[misc]
    yield "Hessian product", product, product / once, ""
    for name, start in (("", None), (" from a tensor", torch.zeros(units.dim, device=rows.device))):
        times, result = [], None
        for _ in range(4):  # each on a problem of its own: nothing is remembered
            fresh = problem()
            rows.wait()
            begun = time.perf_counter()
            result = solve(fresh, x0=start, tol=1e-4)
            rows.wait()
            times.append(time.perf_counter() - begun)
        assert result is not None
        told = (
            f"{result.status.name}, residual {result.certificate.residual:.1e}, multipliers "
            f"{np.array2string(result.certificate.multipliers, precision=3)}, {result.nit} steps"
        )
        yield f"solve to 1e-4{name}", min(times[1:]), min(times[1:]) / once, told
    for name, rule, bound, options in (
        ("fit, parity 0.02", demographic_parity(0.02), 0.02, {}),
        ("fit, equalised odds 0.02", equalized_odds(0.02), 0.02, {}),
        ("first fit, parity 0.02", demographic_parity(0.02), 0.02, {"scoring": None}),
        ("first fit, equalised odds 0.02", equalized_odds(0.02), 0.02, {"scoring": None}),
        ("promise, parity 0.02", demographic_parity(0.02), 0.02, {"confidence": 0.95}),
    ):
        model = ConstrainedClassifier(rule, **options)
        spent = rows.seconds(lambda model=model: model.fit(rows.X, rows.y, rows.groups), 3)
        gap = max(abs(line.true) for line in model.report_.constraints)
        kept = f"counted gap {gap:.4f} of {bound}, residual {model.certificate_.residual:.1e}"
        yield name, spent, spent / once, f"{model.status_.name}, {kept}"
    spent = rows.seconds(lambda: model.predict(rows.X))
    yield "predict", spent, spent / once, "labels on the device"


STEPS = 100  # of training, timed together


def trained(
    rows: Rows, constrained: bool, batch: int, units: int, steps: int = STEPS
) -> Callable[[], None]:
    """Return a call that trains a network of three hidden layers for some steps."""
    torch.manual_seed(1)
    widths, layers = [rows.X.shape[1], units, units, units], []
    for inside, outside in pairwise(widths):
        layers += [torch.nn.Linear(inside, outside), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], 1)).to(rows.device)
    adam = torch.optim.Adam(network.parameters(), 1e-3)
    own, y, groups = rows.X[: batch * steps], rows.y[: batch * steps], rows.groups[: batch * steps]
    rule = demographic_parity(0.02)
    step = ConstrainedOptimizer(adam, rule, y, groups).step if constrained else None

    def call() -> None:
        for start in range(0, batch * steps, batch):
            some = slice(start, start + batch)
            scores = network(own[some])[:, 0]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, y[some].float())
            if step is not None:
                step(loss, scores, y[some], groups[some])
            else:
                adam.zero_grad()
                loss.backward()
                adam.step()

    return call


def overheads(rows: Rows) -> Iterator[tuple[str, float, float]]:
    """Yield how long a step of a network's training takes under a rule, and that as a multiple without."""
    for batch, units in ((1024, 512), (16384, 512), (16384, 2048)):
        times: list[list[float]] = [[], []]
        calls = [trained(rows, constrained, batch, units) for constrained in (False, True)]
        for _ in range(ROUNDS):  # in turns
            for call, found in zip(calls, times):
                found.append(rows.seconds(call, 1))
        plain, ours = min(times[0]), min(times[1])
        yield f"batches of {batch}, layers of {units}", ours / STEPS, ours / plain


def _copy(rows: Rows) -> float:
    """Return the seconds of a copy of the features within the device."""
    other = torch.empty_like(rows.X)
    return rows.seconds(lambda: other.copy_(rows.X))


def main() -> None:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    kind = torch.cuda.get_device_name() if given.device == "cuda" else given.device
    n, d = int(given.rows), given.columns
    about = (
        f"{n:,} x {d} float32 features are a tensor on the device, made there; two groups. A *pass* is half "
        "the time of a copy within the device. Sums over rows are bound before a solve, and in a fit."
    )
    page = Page("Rows on an accelerator", "python -m benchmarks.devices --write", about)
    packages = ("numpy", "scipy", "scikit-learn", "torch")
    page.say(f"equipoise {__version__}, {facts(*packages)}; {kind}.\n")
    rows = Rows(n, d, given.device)
    page.table("what", "seconds", "passes", "result")
    for name, seconds, passes, told in measured(rows):
        page.row(name, figure(seconds), figure(passes), told)
        if name in GOALS:
            page.goal(f"{name}: passes", passes, GOALS[name])
        if name.startswith("fit"):
            page.goal(f"{name}: seconds", seconds, FIT_SECONDS)
    page.say(
        "\nA network of three hidden layers, trained by Adam in a loop of one's own; `ConstrainedOptimizer` "
        "keeps parity. Small networks wait for the host, which starts the work of every step."
    )
    page.table("training", "seconds a step", "x without rules")
    for name, seconds, times in overheads(rows):
        page.row(name, figure(seconds), figure(times))
        page.goal(f"training, {name}: x without rules", times, OVERHEAD)
    page.summary()
    if given.write:
        page.write(OUTPUT)


if __name__ == "__main__":
    main()
