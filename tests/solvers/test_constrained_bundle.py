"""The bundle method with planes of the constraints: a naive twin, its parts, and where it stops."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from equipoise import Facts, FunctionProblem, Status, sets, solve
from equipoise.problems import REFERENCES
from equipoise.sets import LinearRows
from equipoise.solvers import ConstrainedBundle, UnsuitableSolverError
from equipoise.solvers._bundle import model
from equipoise.solvers._bundle import planes as planes_module
from equipoise.solvers._bundle.model import minimise
from equipoise.solvers._bundle.planes import TangentPlanes
from equipoise.solvers._methods import constrained_bundle

from .lines import line

FACTS = Facts(smooth=False, convex=True, convex_constraints=True)

RNG = np.random.default_rng(0)


def maximum(A, b):
    def function(x):
        j = int(np.argmax(A @ x + b))
        return A[j] @ x + b[j], A[j]

    return function


def instance(seed, curved=False):
    """min max(A x + b) [+ |x|^2/2]  s.t.  max(C x + c) <= 0, a pair, in two variables without bounds."""
    rng = np.random.default_rng(seed)
    A, C, a = rng.normal(size=(3, 2)), rng.normal(size=(2, 2)), rng.normal(size=2)
    A = np.vstack((A, -A.sum(axis=0)))
    kinked, bend = maximum(A, rng.normal(size=4)), 1.0 if curved else 0.0

    def objective(x):
        value, slope = kinked(x)
        return value + bend * x @ x / 2, slope + bend * x

    rows = [maximum(C, np.full(2, -0.5)), lambda x: (a @ x, a), lambda x: (-(a @ x), -a)]
    return FunctionProblem(objective, rows[: 3 if seed % 2 else 1], dim=2, facts=FACTS)


def naive_program(L, delta, slopes, heights, objective):
    """``min v + delta/2 v^2 + L/2 |s|^2`` under the planes, by trying all sets of active planes."""
    n, d = slopes.shape
    top = heights[objective].max()
    J = np.hstack((slopes, -objective[:, None].astype(float)))
    f = np.where(objective, heights - top, heights)
    H, g = np.diag([L] * d + [delta]), np.append(np.zeros(d), 1.0)
    best = None
    for k in range(d + 2):
        for active in combinations(range(n), k):
            rows = J[list(active)]
            M = np.block([[H, rows.T], [rows, np.zeros((k, k))]])
            if np.linalg.matrix_rank(rows) < k:
                continue
            answer = np.linalg.solve(M, np.append(-g, -f[list(active)]))
            z, lam = answer[: d + 1], answer[d + 1 :]
            value = g @ z + z @ H @ z / 2
            kept = (J @ z + f <= 1e-9).all() and (lam >= -1e-9).all()
            if kept and (best is None or value < best[0]):
                w = np.zeros(n)
                w[list(active)] = lam
                best = value, z, w
    _, z, w = best
    total = w[objective].sum()
    return z[:d], w / total, L / total


def naive_run(problem, x, steps):
    """The box of the class, word by word, with loops over all planes; yields the centre, L and penalties."""
    point = problem.at(x)
    m = point.values.size - 1
    planes = [(i, point.gradient(i), point.values[i] - point.gradient(i) @ x) for i in range(m + 1)]
    L = fall = np.linalg.norm(point.gradient(0))
    p = np.zeros(m)
    for _ in range(steps):
        owners = np.array([i for i, _, _ in planes])
        slopes, offsets = np.array([g for _, g, _ in planes]), np.array([c for *_, c in planes])
        objective = owners == 0
        s, w, used = naive_program(L, 0.05 / fall, slopes, slopes @ x + offsets, objective)
        for i in range(1, m + 1):
            p[i - 1] = max(p[i - 1], 2 * w[owners == i].sum())
        y, before = x + s, problem.at(x)
        after = problem.at(y)
        low = max(g @ y + c for i, g, c in planes if i == 0)
        P = [q.values[0] + sum(p * np.maximum(q.values[1:], 0)) for q in (before, after)]
        fresh = []
        for i in range(m + 1):
            known = max(g @ y + c for j, g, c in planes if j == i)
            if after.values[i] > known + 1e-12 and (i == 0 or after.values[i] > 0):
                g = after.gradient(i)
                fresh.append((i, g, after.values[i] - g @ y))
        predicted, held = P[0] - low, used * (s @ s)
        fall = abs(low - max(g @ x + c for i, g, c in planes if i == 0))
        if predicted < 1e-9:
            return
        if P[0] - P[1] >= 0.1 * predicted:
            L = L / 2 if held > 0.1 * predicted else L
            x_new = y
        else:
            x_new = x
            if not fresh:
                L = L / 10 if held > 0.1 * predicted else 10 * L
            elif fresh[0][0] == 0:
                _, g, c = fresh[0]
                L = 2 * L if before.values[0] - (g @ x + c) > predicted else L
        if len(planes) >= 10:
            newest = {i: j for j, (i, _, _) in enumerate(planes)}
            planes = [q for j, q in enumerate(planes) if w[j] > 0 or newest[q[0]] == j]
        planes, x = planes + fresh, x_new
        yield x, L, p.copy()


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 6])
def test_a_naive_twin_takes_the_same_steps(seed, curved):
    problem = instance(seed, curved)
    solver, x0 = ConstrainedBundle(), np.array([2.0, -1.0])
    state, steps = solver.init(problem, x0), 0
    for x, L, p in naive_run(problem, x0, 12):
        state = solver.step(problem, state, steps, RNG)
        steps += 1
        np.testing.assert_allclose(state.x, x, atol=1e-8)
        np.testing.assert_allclose(state.p, p, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(state.L, L, rtol=1e-12)
    assert steps >= 3


def test_the_program_is_the_one_that_its_docstring_states():
    """With the L it says it belongs to: slopes cancel, and no plane is exceeded."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        slopes, offsets = rng.normal(size=(6, 3)), rng.normal(size=6)
        owners = np.array([0, 0, 0, 0, 1, 2])
        offsets[4:] = -np.abs(offsets[4:])
        planes, x = TangentPlanes(slopes, offsets, owners, np.zeros(6)), np.zeros(3)
        fall = 10.0 ** rng.uniform(-6, 2)
        found = minimise(planes, x, LinearRows.of(3), 2.0, fall)
        heights, objective = planes.heights(x + found.s), planes.of_objective
        v = heights[objective].max()
        assert found.weights[objective].sum() == pytest.approx(1.0, abs=1e-12)
        assert (found.weights >= 0).all()
        assert heights[~objective].max() <= 1e-9
        np.testing.assert_allclose(found.L * found.s, -found.weights @ slopes, atol=1e-8)
        gap = np.where(objective, v - heights, -heights)
        assert found.weights @ gap <= 1e-8


def test_programs_that_fail_are_tried_with_less_curvature_of_the_height(monkeypatch):
    """The objective's steepest plane has the slope 5; every program is tried with room for rounding too."""
    tried = []
    monkeypatch.setattr(
        model.QuadraticProgram, "solve", lambda program: tried.append((program.H, program.f))
    )
    slopes = np.array([[3.0, 4.0], [1.0, 0.0], [60.0, 0.0]])
    planes = TangentPlanes(slopes, np.array([7.0, 6.0, -1.0]), np.array([0, 0, 1]), np.zeros(3))
    assert minimise(planes, np.zeros(2), LinearRows.of(2), 3.0, 0.5) is None
    deltas = [model.CHANGED_SHARE / 0.5, *(3.0 / 100.0 * share for share in (1.0, 1e-2, 1e-4))]
    for (H, f), delta in zip(tried, np.repeat(deltas, 2), strict=True):
        np.testing.assert_allclose(H, np.diag([3.0, 3.0, delta]), rtol=1e-12)
        np.testing.assert_allclose(f, [0.0, -1.0, -1.0], rtol=1e-12)
    errors = [f - g for (_, f), (_, g) in zip(tried[::2], tried[1::2])]
    expected = [[0.0, 0.0, planes.errors(np.zeros(2))[2]]] * 4
    np.testing.assert_allclose(errors, expected, rtol=1e-2)


def test_planes_that_exclude_each_other_and_those_that_only_seem_to():
    slopes = np.array([[1.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])
    owners, x = np.arange(3), np.zeros(2)

    def step(gap):
        planes = TangentPlanes(slopes, np.array([0.0, gap - 1.0, 1.0]), owners, np.zeros(3))
        return minimise(planes, x, LinearRows.of(2), 1.0, 1.0)

    assert step(1e-6) is None
    assert step(1e-15).s[0] == pytest.approx(1.0, abs=1e-12)


def test_planes_know_what_they_miss_and_which_to_keep():
    problem = instance(1)
    x = np.array([2.0, -1.0])
    point = problem.at(x)
    planes = TangentPlanes.at(point, np.arange(4))
    assert planes.missed(point).size == 0
    below = replace(planes, offsets=planes.offsets - 0.1)
    violated = [0, *(1 + np.flatnonzero(point.constraints > 0))]
    assert below.missed(point).tolist() == violated
    assert len(violated) in (2, 3)
    met = line([1.0], [[1.0], [2.0]], [0.0, 1e-9]).at(np.zeros(1))
    low = replace(TangentPlanes.at(met, np.arange(3)), offsets=np.full(3, -1.0))
    assert low.missed(met).tolist() == [0, 2]  # the first constraint is just met
    barely = replace(planes, offsets=planes.offsets - 1e-17)
    assert barely.missed(point).size == 0
    zero = line([1.0]).at(np.zeros(1))  # where a plane has no rounding error
    assert TangentPlanes.at(zero, np.arange(1)).missed(zero).size == 0
    more = TangentPlanes.at(problem.at(-x), np.array([0, 1]))
    joined = planes.joined(more, np.array([1.0, 0.0, 0.5, 0.0]))
    assert joined.owners.tolist() == [0, 1, 2, 3, 0, 1]
    assert joined.weights.tolist() == [1.0, 0.0, 0.5, 0.0, 0.0, 0.0]
    weighted = replace(joined, weights=np.array([0.0, 0.0, 0.5, 0.0, 0.7, 0.3]))
    assert weighted.used().owners.tolist() == [2, 3, 0, 1]
    many = joined.joined(more, joined.weights).joined(more, np.append(joined.weights, [0.0, 0.0]))
    assert many.owners.size == 10
    fewer = many.joined(more, many.weights)
    assert fewer.owners.tolist() == [0, 2, 3, 0, 1, 0, 1]
    np.testing.assert_array_equal(fewer.slopes[-2:], more.slopes)


@pytest.mark.parametrize("d", [1, 20])
@pytest.mark.parametrize("full", [False, True])
def test_planes_without_weight_are_dropped_where_there_are_many(d, full):
    """Many for the number of variables."""
    most = max(planes_module.LEAST_PLANES, planes_module.PLANES_PER_VARIABLE * d)
    n = most if full else most - 1
    owners = np.zeros(n, dtype=int)
    old = TangentPlanes(np.zeros((n, d)), np.arange(n), owners, np.zeros(n))
    one = TangentPlanes(np.ones((1, d)), np.array([-1]), np.array([0]), np.zeros(1))
    kept = old.joined(one, np.eye(1, n)[0])
    assert kept.offsets.tolist() == ([0, n - 1, -1] if full else [*range(n), -1])


def test_on_planes_the_solution_is_exact_after_a_few_steps():
    for seed in range(6):
        result = solve(instance(seed), ConstrainedBundle(), tol=1e-8, max_steps=60)
        assert result.success, result
        assert result.nit <= 30


def test_multipliers_are_the_weights():
    """min |x1| + |x2|  s.t.  x1 + 2 x2 = 2: the solution is (0, 1), the multiplier 1/2."""
    a = np.array([1.0, 2.0])
    rows = [lambda x: (a @ x - 2, a), lambda x: (2 - a @ x, -a)]
    problem = FunctionProblem(lambda x: (np.abs(x).sum(), np.sign(x)), rows, dim=2, facts=FACTS)
    result = solve(problem, "constrained_bundle", [3.0, -2.0], max_steps=30)
    np.testing.assert_allclose(result.x, [0.0, 1.0], atol=1e-9)
    _, lam = ConstrainedBundle().output(result.state)
    np.testing.assert_allclose(lam, [0.0, 0.5], atol=1e-9)


def test_it_stops_by_its_own_measure():
    problem = instance(2, curved=True)
    solver = ConstrainedBundle(tol=1e-3)
    result = solve(problem, solver, [2.0, -1.0], tol=1e-12, max_steps=200)
    state = result.state
    assert state.residual <= 1e-3
    before = replace(state, residual=1.1e-3, idle=0)
    assert solver.verdict(before) is None
    assert solver.verdict(state) is Status.CONVERGED
    assert solver.verdict(replace(state, residual=1e-3)) is Status.CONVERGED
    assert solver.verdict(replace(before, idle=3)) is None
    assert solver.verdict(replace(before, idle=4)) is Status.STALLED
    stuck = replace(before, excluded=True, values=np.array([0.0, 1e-2, -1.0, -1.0]))
    assert solver.verdict(stuck) is Status.LOCALLY_INFEASIBLE
    feasible = replace(stuck, values=np.array([0.0, 1e-4, -1.0, -1.0]))
    assert solver.verdict(feasible) is Status.STALLED


def test_a_program_that_fails_is_tried_with_fewer_planes(monkeypatch):
    problem, solver = instance(3), ConstrainedBundle()
    state = solver.init(problem, np.array([2.0, -1.0]))
    for t in range(3):
        state = solver.step(problem, state, t, RNG)
    fewer = state.planes.used().owners.size
    assert fewer < state.planes.owners.size
    monkeypatch.setattr(constrained_bundle, "minimise", lambda *_: None)
    once = solver.step(problem, state, 3, RNG)
    assert once.planes.owners.size == fewer
    assert not once.excluded
    assert solver.step(problem, once, 4, RNG).excluded


def test_an_objective_without_slope_and_one_constraint():
    """The start is on a kink, where the one subgradient is 0."""
    problem = FunctionProblem(
        lambda x: (np.abs(x).sum(), np.sign(x)),
        [lambda x: (1.0 - x[0], np.array([-1.0, 0.0]))],
        domain=sets.Box(-2, 2, dim=2),
        facts=FACTS,
    )
    result = solve(problem, "constrained_bundle", np.zeros(2), tol=1e-8)
    assert result.success
    np.testing.assert_allclose(result.x, [1.0, 0.0], atol=1e-8)


def test_what_it_refuses():
    with pytest.raises(UnsuitableSolverError, match="convex"):
        solve(REFERENCES["active"]().problem, "constrained_bundle")
    with pytest.raises(ValueError, match="tol"):
        ConstrainedBundle(tol=0.0)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_rounding_errors_of_the_values_are_no_distance_from_the_solution(seed, offset):
    """The root of a rounding error is far above it: at an offset of 1e6 it was 1e-5."""
    rng = np.random.default_rng(seed)
    C, c, one = rng.normal(size=(10, 5)), rng.normal(size=10), np.ones(5)

    def problem(offset):
        return FunctionProblem(
            lambda x: (offset + np.abs(C @ x - c).sum(), C.T @ np.sign(C @ x - c)),
            [lambda x: (x.sum() - 1.0, one), lambda x: (1.0 - x.sum(), -one)],
            domain=sets.Box(-2, 2, dim=5),
            facts=FACTS,
        )

    method, given = ConstrainedBundle(tol=1e-8), problem(offset)
    state = method.init(given, np.zeros(5))
    for t in range(40):
        state = method.step(given, state, t, RNG)
        if method.verdict(state) is not None:
            break
    assert method.verdict(state) is Status.CONVERGED
    cost = np.concatenate((np.zeros(5), np.ones(10)))
    above = np.block([[C, -np.eye(10)], [-C, -np.eye(10)]])
    rows, bounds = np.concatenate((one, np.zeros(10)))[None], [(-2, 2)] * 5 + [(None, None)] * 10
    best = linprog(cost, above, np.concatenate((c, -c)), rows, [1.0], bounds).fun
    assert problem(0.0).at(state.x).objective == pytest.approx(best, abs=1e-12 * max(offset, 10.0))
