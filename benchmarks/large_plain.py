"""Many variables and gradients alone: evaluations and time of `solve` beside SLSQP's and IPOPT's.

Run with ``python -m benchmarks.large_plain [--quick] [--write]``; ``make large`` does.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.generated import sparse_rows
from benchmarks.page import Page, facts, figure, yes
from benchmarks.peers import ipopt_rival, scipy_rivals
from benchmarks.peers.plain import PlainProblem
from benchmarks.peers.race import BOUND, VIOLATION, learning_problem
from benchmarks.peers.watch import Watch, earliest
from equipoise import demographic_parity, solve
from equipoise.solvers import AugmentedNewton, choose

SIZES = ((5_000, 500), (10_000, 2_000), (20_000, 10_000))  # rows, columns
LARGEST_FOR_SLSQP = 500  # columns; it keeps a dense matrix and needs about d^3 operations a step
TOL, GAP, GOAL = 1e-6, 1e-3, 1.2
HISTORIES = (6, 50)  # pairs that IPOPT remembers: its default, and what suits it in `make peers`
SECONDS = 15.0  # for one run of IPOPT
LONG = 5.0  # seconds of a run that is not repeated
OURS = "Equipoise"
OUTPUT = Path(__file__).parents[1] / "docs" / "large_plain.md"


class Counted(PlainProblem):
    """Gradients alone; values and gradients are counted, whoever asks for them."""

    def __init__(self, problem) -> None:
        super().__init__(problem, products=False)
        self.values = self.gradients = 0

    def at(self, x):
        self.values += 1
        point = super().at(x)

        def counted(weights):
            self.gradients += 1
            return point.vjp(weights)

        return replace(point, vjp=counted)


def ours(problem, watch, learning):
    """`solve` with its choice, or with products by differences of gradients."""
    solver = choose(problem, TOL) if learning else AugmentedNewton(tol=0.9 * TOL)
    result = solve(
        problem,
        solver,
        np.zeros(problem.dim),
        max_steps=1000,
        tol=TOL,
        callback=lambda i: watch.see(i.x),
    )
    watch.see(result.x)


def entrants(d):
    yield OURS, partial(ours, learning=True)
    yield "Equipoise, products by differences", partial(ours, learning=False)
    for history in HISTORIES:
        yield (
            f"IPOPT, limited memory of {history}",
            partial(
                ipopt_rival.ipopt,
                limited_memory_max_history=history,
                tol=TOL,
                max_wall_time=SECONDS,
            ),
        )
    if d <= LARGEST_FOR_SLSQP:
        yield "SLSQP", scipy_rivals.slsqp


def best_known(problem):
    start = np.zeros(problem.dim)
    return problem.at(solve(problem, choose(problem, 1e-8), start, tol=1e-8).x).objective


def race(page: Page, n: int, d: int, repeats: int) -> None:
    problem = learning_problem(*sparse_rows(n, d), demographic_parity(BOUND))
    best = best_known(problem)
    listed = dict(entrants(d))
    watches, counts = {name: [] for name in listed}, {}
    for _ in range(repeats):
        for name, method in listed.items():
            if watches[name] and watches[name][0].seen[-1][0] > LONG:
                continue
            counts[name], watch = Counted(problem), Watch(problem)
            with threadpool_limits(1):
                method(counts[name], watch)
            watches[name].append(watch)
    page.say(f"\n## {n} x {d}")
    page.table(
        "method" + 29 * " ",
        "values",
        "gradients",
        "to 1e-3 s",
        "end s",
        "end gap",
        "violation",
        "there",
    )
    there = {}
    for name, runs in watches.items():
        _, objective, violation = runs[-1].seen[-1]
        gap, count = objective / best - 1, counts[name]
        there[name] = gap <= GAP and violation <= VIOLATION
        page.row(
            name, count.values, count.gradients, figure(earliest(runs, best * (1 + GAP), VIOLATION)),
            figure(min(run.seen[-1][0] for run in runs)), f"{gap:.1e}", f"{violation:.1e}", yes(there[name]),
        )  # fmt: skip
    work = {name: count.values + count.gradients for name, count in counts.items()}
    rivals = [work[name] for name in work if name.startswith("IPOPT") and there[name]]
    if rivals:
        page.goal(f"d = {d}: values + gradients, x IPOPT's", work[OURS] / min(rivals), GOAL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest size alone")
    parser.add_argument("--write", action="store_true", help=f"write {OUTPUT.name}")
    arguments = parser.parse_args()
    about = (
        "Counts are the same on every machine up to rounding; times are the least of runs in turns."
    )
    page = Page("Many variables, gradients alone", "make large", about)
    page.say(facts("equipoise", "numpy", "scipy", "casadi") + ".")
    page.say(
        f"\nLogistic loss of generated sparse rows (20 entries each) under |soft demographic parity gap| <= "
        f"{BOUND}, as a plain `Problem` with values and gradients and no more. Equipoise stops at a residual "
        f"of {TOL:g}, IPOPT at a tolerance of {TOL:g} in its own scaling, after 500 steps or {SECONDS:g} s, "
        f"SLSQP where the objective changes by 1e-10. *values*, *gradients*: how often the problem is asked, "
        f"Equipoise's examinations included; *to 1e-3*: seconds to an objective within 1e-3 (relative) of "
        f"the best known one with violation <= {VIOLATION:g}; *there*: whether the end is such a point. One "
        f"BLAS thread. IPOPT has a separate gradient of every constraint at every step, Equipoise one of "
        f"the Lagrangian and those of the constraints that may become active."
    )
    for n, d in SIZES[:1] if arguments.quick else SIZES:
        race(page, n, d, repeats=3)
    page.summary()
    if arguments.write:
        page.write(OUTPUT)


if __name__ == "__main__":
    main()
