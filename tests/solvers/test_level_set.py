"""The level-set method, its inner methods, and what they prove along the way."""

import math
import pickle
from dataclasses import dataclass
from typing import ClassVar

import cvxpy as cp
import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Status, certify, sets, solve
from equipoise.problems import (
    REFERENCES,
    Maximum,
    MeritProblem,
    ProximalProblem,
    QuadraticProblem,
)
from equipoise.solvers import (
    LevelSet,
    MinMax,
    MinMaxProxLinear,
    MinMaxSubgradient,
    ProximalBundle,
    UnsuitableSolverError,
)
from equipoise.solvers._minmax.linearised_maximum import LinearisedMaximum
from equipoise.solvers._minmax.minmax import Bracket, lowest

INNER = [MinMaxProxLinear, ProximalBundle, MinMaxSubgradient]


def parabola():
    """min x^2 s.t. 1 - x <= 0."""
    return QuadraticProblem(
        [[[2.0]], [[0.0]]], [[0.0], [-1.0]], [0.0, 1.0], sets.Box(-5.0, 5.0, dim=1)
    )


def root(r):
    """H(r) of the parabola, in closed form."""
    return 1 - (-1 + math.sqrt(5 + 4 * r)) / 2


@dataclass(frozen=True, kw_only=True)
class Exact(MinMax[Bracket]):
    """The exact oracle of the parabola: both functions are equal at the minimum."""

    name: ClassVar[str] = "exact"

    def init(self, problem, x0):
        return Bracket(x0, math.inf, -math.inf, np.array([1.0, 0.0]))

    def step(self, problem, state, t, rng):
        H = root(problem.merit.level)
        x = np.array([1 - H])
        w = 1 / (1 + 2 * x[0])
        return Bracket(x, H, H, np.array([w, 1 - w]), 1)

    def bracket(self, state):
        return state


def stages(problem, solver, x0, max_steps=5000):
    """The outer states, in order."""
    found = []

    def keep(iteration):
        if iteration.state.k == 0:
            found.append(iteration.state.outer)

    result = solve(problem, solver, x0, max_steps=max_steps, callback=keep)
    return found, result


def start(problem, seed):
    """A random point of the domain."""
    rng = np.random.default_rng(seed)
    return problem.domain.project(2 * rng.normal(size=problem.dim))


def quadratic(seed, infeasible=False):
    """A random convex problem with a strictly feasible point, or two rows that exclude each other."""
    rng = np.random.default_rng(seed)
    d, m = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    inside = 0.5 * rng.normal(size=d)
    P, q, c = [], [], []
    for i in range(m + 1):
        A = rng.normal(size=(int(rng.integers(0, d + 1)), d))
        P.append(A.T @ A + (i == 0 and seed % 4 == 3) * np.eye(d))
        q.append(rng.normal(size=d))
        at = 0.5 * inside @ P[-1] @ inside + q[-1] @ inside
        c.append(-at - rng.exponential(0.3) if i else 0.0)
    if infeasible:
        P, q = [*P, *np.zeros((2, d, d))], [*q, np.eye(d)[0], -np.eye(d)[0]]
        c += [1.0, 0.5]
    domains = [sets.Box(-3.0, 3.0, dim=d), sets.L1Ball(4.0), sets.L2Ball(3.0), sets.WholeSpace()]
    return QuadraticProblem(P, q, c, domains[seed % 4])


def reference_value(problem, level=None):
    """The optimal value by cvxpy; with a level, the minimum of the maximum."""
    x = cp.Variable(problem.dim)
    f = [
        0.5 * cp.quad_form(x, cp.psd_wrap(P)) + q @ x + c
        for P, q, c in zip(problem.P, problem.q, problem.c)
    ]
    domain = problem.domain
    inside = {
        "Box": lambda: [cp.abs(x) <= 3],
        "L1Ball": lambda: [cp.norm1(x) <= 4],
        "L2Ball": lambda: [cp.norm2(x) <= 3],
        "WholeSpace": lambda: [],
    }[type(domain).__name__]()
    if level is None:
        return cp.Problem(cp.Minimize(f[0]), [g <= 0 for g in f[1:]] + inside).solve()
    return cp.Problem(cp.Minimize(cp.maximum(f[0] - level, *f[1:])), inside).solve()


# --- the outer loop -----------------------------------------------------------------------------


def test_t6_7_levels_with_an_exact_oracle():
    solver = LevelSet(theta=1.0, level=3.0, eps_opt=1e-6, inner_method=Exact())
    outers, result = stages(parabola(), solver, np.array([0.0]))
    levels = [3.0] + [outer.level for outer in outers]
    np.testing.assert_allclose(levels[:3], [3, 2.719224, 2.473078], atol=5e-7)
    H = [outer.upper for outer in outers]
    np.testing.assert_allclose(H[:3], [-0.561553, -0.492291, -0.429528], atol=5e-7)
    assert len(outers) == 75 + 1  # 75 level updates, and the stage that stops
    assert H[-2] < -1e-6 <= H[-1]
    assert result.status is Status.STALLED
    assert result.x[0] == pytest.approx(1.0, abs=2e-6)
    assert all(parabola().at(outer.x).excess <= 0 for outer in outers)


def test_naive_twin_of_the_outer_loop():
    """The box by hand with the closed-form oracle, 50 levels."""
    solver = LevelSet(theta=1.5, level=4.0, inner_method=Exact())
    outers, _ = stages(parabola(), solver, np.array([0.0]), max_steps=50)
    r, expected = 4.0, []
    for _ in range(50):
        r = r + root(r) / (2 * 1.5)
        expected.append(r)
    np.testing.assert_allclose([outer.level for outer in outers], expected, rtol=1e-12)


@pytest.mark.parametrize("inner", INNER[:2])
def test_t6_7_with_the_inner_methods(inner):
    """The same levels, to the accuracy asked of the inner method."""
    solver = LevelSet(level=3.0, eps_opt=1e-6, accuracy=1e-8, inner_method=inner())
    outers, _ = stages(parabola(), solver, np.array([0.0]))
    np.testing.assert_allclose([o.level for o in outers[:2]], [2.719224, 2.473078], atol=1e-6)
    assert sum(outer.upper < -1e-6 for outer in outers) == 75


def test_t2_7_the_level_set_oracle_on_a_proximal_subproblem():
    problem = ProximalProblem(REFERENCES["active"]().problem, np.array([1.0, 0.05]), 4.0)
    x0 = np.array([1.3, 0.05])
    level = problem.at(x0).objective + 0.1
    solver = LevelSet(theta=1.0, level=level, eps_opt=1e-6, mu=2.0, accuracy=1e-9)
    outers, result = stages(problem, solver, x0)
    assert len(outers) == 33 + 1
    assert outers[-2].upper < -1e-6 <= outers[-1].upper
    assert all(problem.at(outer.x).excess <= 0 for outer in outers)
    assert result.fun == pytest.approx(0.9985076, abs=5e-8)
    np.testing.assert_allclose(result.x, [0.998304, 0.059932], atol=2e-6)
    assert result.state.outer.multipliers[0] == pytest.approx(0.49577, abs=1e-5)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-6])
@pytest.mark.parametrize("x0", [[1.3, 0.05], [1.0, 0.05], [0.2, -0.4]])
def test_as_an_oracle_it_keeps_its_promise(accuracy, x0):
    """Tuned, it stops by itself with the objective gap and the constraints asked for."""
    problem = ProximalProblem(REFERENCES["active"]().problem, np.array([1.0, 0.05]), 4.0)
    solver = LevelSet().tuned(mu=2.0, accuracy=accuracy, multipliers=None)
    result = solve(problem, solver, np.array(x0), max_steps=2000)
    assert result.status is Status.STALLED
    assert result.certificate.violation == 0.0
    true_gap = result.fun - 0.99850745
    assert -1e-7 <= true_gap <= accuracy + 1e-7
    assert result.state.outer.gap >= true_gap - 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_levels_iterates_and_gaps_along_the_path(seed):
    """Every iterate feasible; levels fall by the proven factor and stay above f*; gaps hold."""
    problem = quadratic(seed)
    optimum = reference_value(problem)
    solver = LevelSet(theta=1.0, accuracy=0.1)
    outers, _ = stages(problem, solver, start(problem, seed), max_steps=800)
    outers = [outer for outer in outers if math.isfinite(outer.upper)]
    assert len(outers) > 5
    bounded = math.isfinite(problem.domain.diameter)
    for outer, following in zip(outers, outers[1:]):
        point = problem.at(outer.x)
        assert point.excess <= 0
        assert outer.level >= optimum - 1e-6
        assert point.objective <= outer.level + 1e-12
        if bounded:
            assert point.objective - optimum <= outer.gap + 1e-6
        if following.upper < -solver.eps_opt and outer.level - optimum > 1e-5:
            lam = following.multipliers  # None: the objective has no weight, the level is too high
            w = 0.0 if lam is None else 1 / (1 + lam.sum())
            factor = 1 - w / (2 * solver.theta * (1 + solver.accuracy))
            # weak duality: U (1 + accuracy) <= lower <= -w_0 (r - f*), for the w that gave lower
            assert following.level - optimum <= factor * (outer.level - optimum) + 1e-7


def test_without_constraints_it_minimises_the_objective():
    problem = QuadraticProblem(
        [[[3.0, 1.0], [1.0, 2.0]]], [[1.0, -9.0]], [0.0], sets.Box(-1.0, 1.0, dim=2)
    )
    result = solve(problem, LevelSet(), np.zeros(2), max_steps=500, tol=1e-6)
    assert result.success
    np.testing.assert_allclose(result.x, [-2 / 3, 1.0], atol=1e-6)


@pytest.mark.parametrize("name", ["convex", "auc"])
def test_defaults_from_random_starts(name):
    reference = REFERENCES[name]()
    for seed in range(20):
        x0 = start(reference.problem, seed)
        result = solve(reference.problem, LevelSet(), x0, max_steps=400, tol=1e-5)
        assert result.success, result.message
        assert certify(reference.problem, result.x).residual <= 1e-5
        assert reference.distance(result.x) <= 1e-4


@pytest.mark.parametrize("seed", range(8))
def test_random_convex_quadratics(seed):
    problem = quadratic(seed)
    result = solve(problem, LevelSet(), start(problem, seed + 100), max_steps=3000, tol=1e-5)
    assert result.success, result.message
    assert result.fun == pytest.approx(reference_value(problem), abs=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_infeasible_problems_end_with_a_status(seed):
    problem = quadratic(seed, infeasible=True)
    result = solve(problem, LevelSet(), start(problem, seed), max_steps=3000, tol=1e-5)
    assert result.status is Status.INFEASIBLE
    assert result.maxcv >= 0.75 - 1e-9  # the two rows need 1.5 between them
    assert result.blocking


def kinked(facts):
    """min |x1 - 2| + |x2| on the disc: a kink at the solution (1, 0)."""
    return FunctionProblem(
        lambda x: (
            abs(x[0] - 2) + abs(x[1]),
            np.array([np.sign(x[0] - 2), np.sign(x[1])]),
        ),
        [lambda x: (x @ x - 1, 2 * x)],
        domain=sets.Box(-3.0, 3.0, dim=2),
        facts=facts,
    )


@pytest.mark.parametrize("facts", [Facts(smooth=False, convex=True), Facts()])
def test_functions_with_kinks(facts):
    result = solve(kinked(facts), LevelSet(), np.array([0.0, 2.0]), max_steps=1000)
    assert result.status is Status.STALLED
    assert result.maxcv == 0.0
    np.testing.assert_allclose(result.x, [1.0, 0.0], atol=1e-6)
    assert result.state.outer.gap <= 1e-6


def test_the_subgradient_method_as_inner_method():
    """Cheap steps: feasible, and within a few percent."""
    solver = LevelSet(inner_method=MinMaxSubgradient(budget=200))
    result = solve(kinked(Facts(smooth=False)), solver, np.array([0.0, 2.0]), max_steps=5000)
    assert result.maxcv == 0.0
    assert result.fun <= 1.05


def test_a_level_below_the_optimum_is_recovered_from():
    reference = REFERENCES["convex"]()
    result = solve(reference.problem, LevelSet(level=0.5), reference.start, max_steps=400, tol=1e-5)
    assert result.success
    assert result.fun == pytest.approx(1.0, abs=1e-4)


def test_a_nonconvex_problem_is_refused():
    reference = REFERENCES["active"]()
    with pytest.raises(UnsuitableSolverError, match="LevelSet needs a convex problem"):
        solve(reference.problem, LevelSet(), reference.start)


def test_the_state_can_be_stored_and_x0_is_left_alone():
    reference = REFERENCES["auc"]()
    x0 = reference.start.copy()
    result = solve(reference.problem, LevelSet(), x0, max_steps=30)
    again = solve(reference.problem, LevelSet(), x0, max_steps=30)
    np.testing.assert_array_equal(x0, reference.start)
    np.testing.assert_array_equal(result.x, again.x)
    stored = pickle.loads(pickle.dumps(result.state))
    np.testing.assert_array_equal(stored.outer.x, result.state.outer.x)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"theta": 0.4}, "`theta` must be at least 0.5"),
        ({"eps_opt": 0.0}, "`eps_opt` must be positive"),
        ({"accuracy": -1.0}, "`accuracy` must be positive"),
        ({"mu": -1.0}, "`mu` must be non-negative"),
        ({"gap": -1.0}, "`gap` must be non-negative"),
        ({"level": math.nan}, "`level` must be finite"),
        ({"inner_method": "bundle"}, "`inner_method` must be a MinMax or None"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=f"LevelSet: {message}"):
        LevelSet(**parameters)


def test_bad_parameters_of_the_inner_methods():
    with pytest.raises(
        ValueError, match="MinMaxProxLinear: `budget` must be an integer of at least 1"
    ):
        MinMaxProxLinear(budget=0)
    with pytest.raises(ValueError, match="MinMaxSubgradient: `accuracy` must be positive"):
        MinMaxSubgradient(accuracy=0.0)
    with pytest.raises(ValueError, match="ProximalBundle: `smallest` must be positive"):
        ProximalBundle(smallest=0.0)
    with pytest.raises(TypeError, match="must be a MeritProblem of a Maximum"):
        MinMaxProxLinear().init(parabola(), np.zeros(1))


# --- the inner methods --------------------------------------------------------------------------


def inner_path(problem, solver, x0, steps):
    """The brackets of an inner method, step by step."""
    rng = np.random.default_rng(0)
    state, brackets = solver.init(problem, x0), []
    for t in range(steps):
        state = solver.step(problem, state, t, rng)
        brackets.append(solver.bracket(state))
        if solver.verdict(state) is not None:
            break
    return brackets


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("seed", [0, 1, 4, 6])
def test_brackets_hold_the_minimum(inner, seed):
    base = quadratic(seed)
    level = reference_value(base) + 0.5
    H = reference_value(base, level)
    problem = MeritProblem(base, Maximum(level))
    solver = inner(accuracy=1e-3)
    brackets = inner_path(problem, solver, start(base, seed), 300)
    for bracket in brackets:
        assert bracket.lower <= H + 1e-6
        assert bracket.upper >= H - 1e-6
        assert problem.at(bracket.x).objective == bracket.upper
        assert (bracket.weights >= 0).all()
        assert bracket.weights.sum() == pytest.approx(1.0)
    if inner is not MinMaxSubgradient:
        assert solver.reached(brackets[-1])
    else:
        assert brackets[-1].upper - H <= 0.5 * (brackets[0].upper - H)


def test_strong_convexity_gives_better_lower_bounds():
    base = ProximalProblem(REFERENCES["active"]().problem, np.array([1.0, 0.05]), 4.0)
    problem = MeritProblem(base, Maximum(1.2))
    x0 = np.array([2.0, 0.3])
    exact = inner_path(problem, MinMaxProxLinear(mu=2.0, accuracy=1e-10), x0, 200)[-1].upper
    for mu in (0.0, 2.0):
        brackets = inner_path(problem, MinMaxSubgradient(mu=mu, accuracy=1e-9), x0, 500)
        assert all(b.lower <= exact + 1e-9 for b in brackets)
        if mu:
            assert brackets[-1].upper - brackets[-1].lower <= 2e-2 * abs(exact)


def test_naive_twin_of_the_subgradient_method():
    """The box by hand, 50 steps, with and without strong convexity."""
    base = quadratic(0)
    problem = MeritProblem(base, Maximum(0.3))
    x0 = start(base, 1)
    for mu in (0.0, 0.7):
        solver, rng = MinMaxSubgradient(mu=mu), np.random.default_rng(0)
        state = solver.init(problem, x0)
        x, steepest, best = x0, 0.0, math.inf
        points, slopes, heights, masses = [], [], [], []
        for k in range(50):
            state = solver.step(problem, state, k, rng)
            values = np.array(
                [0.5 * x @ P @ x + q @ x + c for P, q, c in zip(base.P, base.q, base.c)]
            )
            values[0] -= 0.3
            i = int(values.argmax())
            g = base.P[i] @ x + base.q[i]
            best = min(best, values[i])
            steepest = max(steepest, float(np.linalg.norm(g)))
            eta = 2 / (mu * (k + 2)) if mu else base.domain.diameter / steepest / math.sqrt(k + 1)
            points.append(x)
            slopes.append(g)
            heights.append(values[i] - g @ x + 0.5 * mu * x @ x)
            masses.append(k + 1 if mu else eta)
            x = np.clip(x - eta * g, -3, 3)
        share = np.array(masses) / np.sum(masses)
        np.testing.assert_allclose(state.x, x, atol=1e-12)
        np.testing.assert_allclose(state.mean, share @ np.array(points), atol=1e-12)
        np.testing.assert_allclose(state.slope, share @ np.array(slopes), atol=1e-11)
        assert state.height == pytest.approx(share @ np.array(heights), rel=1e-12)
        assert state.bracket.upper == pytest.approx(best, rel=1e-14)


def test_prox_linear_without_constraints_is_accelerated_projected_gradient():
    """One function: each step is a projected gradient step with momentum, for every L tried."""
    base = QuadraticProblem(
        [[[4.0, 1.0], [1.0, 0.5]]], [[1.0, -2.0]], [0.0], sets.Box(-1.0, 1.0, dim=2)
    )
    problem = MeritProblem(base, Maximum(0.0))
    solver, rng = MinMaxProxLinear(accuracy=1e-12), np.random.default_rng(0)
    state = solver.init(problem, np.array([0.9, -0.8]))
    x = previous = state.bracket.x
    k, value = 0, problem.at(x).objective
    for t in range(12):
        state = solver.step(problem, state, t, rng)
        v = np.clip(x + k / (k + 3) * (x - previous), -1, 1)
        y = np.clip(v - base.at(v).gradient(0) / state.L, -1, 1)
        if problem.at(y).objective < value:
            previous, x, k, value = x, y, k + 1, problem.at(y).objective
        else:
            previous, k = x, 0
        np.testing.assert_allclose(state.bracket.x, x, atol=1e-12)
        assert state.run == k


@pytest.mark.parametrize("seed", range(8))
def test_the_linearised_problem_equals_cvxpy(seed):
    rng = np.random.default_rng(seed)
    d, n, L = int(rng.integers(2, 7)), int(rng.integers(1, 8)), float(rng.uniform(0.1, 5))
    domain = [sets.Box(-1.0, 1.0, dim=d), sets.L1Ball(1.0), sets.L2Ball(1.0), sets.Simplex()][
        seed % 4
    ]
    v = domain.project(rng.normal(size=d))
    p, J = rng.normal(size=n), rng.normal(size=(n, d))
    model = LinearisedMaximum(domain, v, p, lambda i: J[i], np.eye(n)[0])
    y, value = model.solve(L)
    while model.add(int((p + J @ (y - v)).argmax())):
        y, value = model.solve(L)
    z = cp.Variable(d)
    inside = [
        [cp.abs(z) <= 1],
        [cp.norm1(z) <= 1],
        [cp.norm2(z) <= 1],
        [z >= 0, cp.sum(z) == 1],
    ][seed % 4]
    objective = cp.max(p + J @ (z - v)) + L / 2 * cp.sum_squares(z - v)
    reference = cp.Problem(cp.Minimize(objective), inside).solve()
    assert value == pytest.approx(reference, abs=2e-5)
    np.testing.assert_allclose(y, z.value, atol=5e-3)
    dual = model.weights @ (p + J @ (y - v)) + L / 2 * (y - v) @ (y - v)
    assert 0 <= value - dual <= 1e-4 * L * max(1e-9, (y - v) @ (y - v))


@pytest.mark.parametrize(
    ("domain", "exact"),
    [
        (sets.Box(-1.0, 2.0, dim=3), lambda g: np.where(g > 0, -g, 2 * g).sum()),
        (sets.L2Ball(2.0), lambda g: -2 * np.linalg.norm(g)),
        (sets.L1Ball(2.0), lambda g: -2 * np.abs(g).max()),
        (sets.Simplex(), lambda g: g.min()),
    ],
    ids=["box", "l2", "l1", "simplex"],
)
def test_the_lowest_value_of_a_linear_function(domain, exact):
    """One far projection: below the minimum over the set, by a millionth."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        g = rng.normal(size=3)
        x = domain.project(rng.normal(size=3))
        bound, minimum = lowest(domain, x, g, 0.0), exact(g) - g @ x
        assert minimum - 1e-5 <= bound <= minimum + 1e-9
    assert lowest(sets.WholeSpace(), np.zeros(3), np.array([3.0, 0.0, 4.0]), 2.0) >= -25 / 4 - 1e-9
