"""The race of solvers: one problem, the same evaluations for everyone, time to a good point."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.page import Page, figure, threads, yes
from benchmarks.peers import ipopt_rival, scipy_rivals, torch_rivals
from benchmarks.peers.plain import PlainProblem
from benchmarks.peers.watch import Watch, earliest
from equipoise import demographic_parity, solve
from equipoise.constraints import bind
from equipoise.datasets import load
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.solvers import choose

BOUND, GAPS, VIOLATION = 0.02, (1e-3, 1e-4), 1e-4
OURS, PRODUCTS, GRADIENTS = "Equipoise", "Equipoise, with products", "Equipoise, gradients alone"
DATA = ("a9a", "bank", "compas")
GOALS = {  # times SLSQP's time, to each of GAPS, on each of DATA
    OURS: ((0.20, 0.12), (0.20, 0.12), (1.0, 1.0)),
    PRODUCTS: ((0.25,), (0.25,), (1.0,)),
    GRADIENTS: ((0.5,), (0.5,), (1.0,)),
}
TOL = 1e-6
DUAL_STEPS = (0.01, 0.1, 1.0)


def data(name):
    return load("adult").part("train") if name == "a9a" else load(name)


def learning_problem(X, y, groups, constraint):
    """Logistic loss + |w|^2 / (2n), dense columns standardised, under a constraint on smooth rates."""
    scale = center = None
    if not sparse.issparse(X):
        center, scale = X.mean(0), X.std(0)
        scale = np.where(scale > 0, scale, 1.0)
    model = LinearModel(X, scale=scale, center=center)
    return LearningProblem.of(model, bind(constraint, y, groups).terms, l2=1 / len(y))


def equipoise(problem, watch):
    """`solve` with all defaults and the solver `choose` picks; its examinations are on the clock."""
    forget(problem)
    return _solve(problem, watch)


def equipoise_plain(problem, watch, products):
    """The same on what a researcher's own `Problem` tells."""
    return _solve(PlainProblem(problem, products), watch)


def _solve(problem, watch):
    result = solve(
        problem,
        choose(problem, TOL),
        np.zeros(problem.dim),
        max_steps=1000,
        tol=TOL,
        callback=lambda iteration: watch.see(iteration.x),
    )
    watch.see(result.x)
    return f"{result.nfev} values, {result.njev} gradients, {result.nhev} products"


def forget(problem):
    """Drop the sketch of the rows that an earlier run has made: every run pays for its own."""
    model = problem.rows.model
    model._plans, model._sketches, problem.rows._sketched = {}, {}, None


def entrants(quick):
    """Name, how to run it, how often."""
    often, seconds, steps = (2, 10.0, 500) if quick else (5, 60.0, 5000)
    yield "SLSQP", scipy_rivals.slsqp, often
    yield OURS, equipoise, often
    yield PRODUCTS, partial(equipoise_plain, products=True), often
    yield GRADIENTS, partial(equipoise_plain, products=False), often
    yield "IPOPT, limited memory", ipopt_rival.ipopt, often
    yield "trust-constr", partial(scipy_rivals.trust_constr, seconds=seconds), 1
    for lr in DUAL_STEPS:
        yield f"Cooper, dual step {lr:g}", partial(torch_rivals.cooper, lr=lr, steps=steps), 1
    for lr in DUAL_STEPS:
        name = f"humancompatible ALM, dual step {lr:g}"
        yield name, partial(torch_rivals.humancompatible, lr=lr, steps=steps), 1


def best_known(problem):
    """The least objective at a feasible point, of two tight runs."""
    found = []
    for run in (_tight, scipy_rivals.slsqp):
        watch = Watch(problem)
        run(problem, watch)
        found += [f for _, f, v in watch.seen if v <= 1e-7]
    return min(found)


def _tight(problem, watch):
    start = np.zeros(problem.dim)
    watch.see(solve(problem, choose(problem, 1e-8), start, max_steps=1000, tol=1e-8).x)


def run(page: Page, quick: bool) -> None:
    page.say(
        f"\n## Solvers: logistic loss under |soft demographic parity gap| <= {BOUND}\n\n"
        f"Seconds from the start to the first iterate whose objective is within 1e-3 and 1e-4 "
        f"(relative) of the best known one with violation <= {VIOLATION:g}, and as a multiple of SLSQP's. "
        f"All share the same evaluations; SLSQP's and IPOPT's are cached, trust-constr has exact Hessian "
        f"products. *{PRODUCTS}* and *{GRADIENTS}* are `solve` on the same problem as a plain "
        f"`Problem`, which has no sketch of its curvature and no facts. "
        f"*end*: where the method stopped, with 'holds' for violation <= {VIOLATION:g}. Cooper and "
        f"humancompatible-train take full-batch Adam steps (0.01, PyTorch float64); the dual step is "
        f"theirs to choose: see how the answer depends on it."
    )
    for name in ("a9a", "compas") if quick else DATA:
        _race(page, name, quick)


def _race(page, name, quick):
    rows = data(name)
    problem = learning_problem(rows.X, rows.y, rows.groups, demographic_parity(BOUND))
    best, slsqp = best_known(problem), None
    page.say(f"\n### {name}, {rows.X.shape[0]} x {rows.X.shape[1]}")
    page.table(
        "method" + 29 * " ", "to 1e-3", "x SLSQP", "to 1e-4", "x SLSQP",
        *(f"end s, {t} thr." for t in threads()), "end gap", "violation", "holds", "work",
    )  # fmt: skip
    for label, watches, work in _alternating(problem, quick):
        everyone = [watch for runs in watches.values() for watch in runs]
        times = [earliest(everyone, best * (1 + gap), VIOLATION) for gap in GAPS]
        slsqp = slsqp or times
        ratios = [ours / theirs for ours, theirs in zip(times, slsqp)]
        _, objective, violation = everyone[0].seen[-1]
        ends = [min(watch.seen[-1][0] for watch in watches[t]) for t in threads()]
        page.row(
            label, figure(times[0]), figure(ratios[0]), figure(times[1]), figure(ratios[1]),
            *map(figure, ends), f"{objective / best - 1:.1e}", f"{violation:.1e}",
            yes(violation <= VIOLATION), work,
        )  # fmt: skip
        goals = GOALS[label][DATA.index(name)] if label in GOALS else ()
        for gap, ratio, goal in zip(GAPS, ratios, goals):
            page.goal(f"{name}: {label}, time to {gap:g}, x SLSQP", ratio, goal)


def _alternating(problem, quick):
    """Run the entrants in turns; yield each one's runs by the number of BLAS threads."""
    listed = list(entrants(quick))
    runs = {name: {t: [] for t in threads()} for name, _, _ in listed}
    work = {}
    for turn in range(max(times for _, _, times in listed)):
        for number in threads():
            for name, method, times in listed:
                if turn < times:
                    with threadpool_limits(number):
                        watch = Watch(problem)
                        work[name] = method(problem, watch)
                    runs[name][number].append(watch)
    for name, done in runs.items():
        yield name, done, work[name]
