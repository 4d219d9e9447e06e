"""Stochastic mirror descent: its closed forms, a naive twin, and what it proves along the way."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from equipoise import Status, solve
from equipoise._errors import NonFiniteError
from equipoise.problems import REFERENCES, ProximalProblem
from equipoise.solvers import SMD, InverseSqrt, UnsuitableSolverError
from equipoise.solvers._minmax.dual_start import fitting_dual
from equipoise.solvers._minmax.mirror_step import dual_step, entropy_weight, largest_value
from tests.solvers.auc_instance import instance, level_function

BLOCK = np.array([0, 1, 1, 2, 2])


def random_dual(rng, I):  # noqa: E741
    return rng.dirichlet(np.ones(3)), rng.uniform(-I, I, size=5)


def with_constants(rng):
    """A min-max form with random constants; its functions are not used."""
    interval, bowl = rng.uniform(0.2, 3), rng.uniform(0.3, 2)
    return replace(instance().saddle(), interval=interval, bowl=bowl)


def naive(problem, r, T, eta0, tau0=None, rho=0.0, center=None, indices=None):
    """The box, pair by pair and row by row in plain NumPy; returns every U, mean w, y and alpha."""
    X = problem.model.features.A
    n, d = X.shape
    A, B = problem.shares[:5], problem.shares[5:]
    c1, c2, kappa, I = problem.loss.c1, problem.loss.c2, problem.kappa, problem.interval  # noqa: E741
    W = 2 * (1 + math.sqrt(2) * I) ** 2
    w = np.zeros(d) if center is None else center.copy()
    a, b = A @ (X @ w) / n, B @ (X @ w) / n
    y, al = np.ones(3) / 3, np.zeros(5)
    Su, Sv, Sx, Sd, Sw = 0.0, 0.0, 0.0, 0.0, 0.0
    found = []
    for t in range(T):
        rows = np.arange(n) if indices is None else indices[t]
        eta = eta0 / math.sqrt(t + 1)
        tau = W * eta if tau0 is None else tau0 / math.sqrt(t + 1)
        F, G, gw, ga, gb = np.zeros(5), np.zeros(5), np.zeros(d), np.zeros(5), np.zeros(5)
        for j in range(5):
            for i in rows:
                h, p, q = X[i] @ w, A[j, i], B[j, i]
                F[j] += c1 * c2**2 - 2 * c1 * c2 * h * (p - q)
                F[j] += c1 * (h - a[j]) ** 2 * p + c1 * (h - b[j]) ** 2 * q
                G[j] += 2 * c1 * h * (p - q)
                s = -2 * c1 * c2 * (p - q) + 2 * c1 * (h - a[j]) * p + 2 * c1 * (h - b[j]) * q
                gw += y[BLOCK[j]] * (s + al[j] * 2 * c1 * (p - q)) * X[i] / len(rows)
                ga[j] += y[BLOCK[j]] * -2 * c1 * (h - a[j]) * p / len(rows)
                gb[j] += y[BLOCK[j]] * -2 * c1 * (h - b[j]) * q / len(rows)
        F, v = F / len(rows), G / len(rows)
        u = np.array([F[0] - r, F[1] + F[2] - 1 - kappa, F[3] + F[4] - 1 - kappa])
        shift = 0.0 if center is None else (w - center) @ (w - center)
        Su, Sv, Sx = Su + tau * u, Sv + tau * v, Sx + tau * w
        Sd, Sw = Sd + tau * shift, Sw + tau
        w = (w / eta + (0.0 if center is None else rho * center) - gw) / (1 / eta + rho)
        w = w * min(1.0, 2.0 / np.linalg.norm(w))
        a, b = np.clip(a - eta * ga, -I, I), np.clip(b - eta * gb, -I, I)
        new = np.clip((v + 2 * al / tau) / (2 * (c1 + 1 / tau)), -I, I)
        m = -new * v + c1 * new**2 + (new - al) ** 2 / tau
        e = np.array([m[0], m[1] + m[2], m[3] + m[4]]) - u
        y = y * np.exp(-tau * e / W)
        y, al = y / y.sum(), new
        um, vm = Su / Sw, Sv / Sw
        best = np.clip(vm / (2 * c1), -I, I)
        mu = best * vm - c1 * best**2
        U = max(um[0] + mu[0], um[1] + mu[1] + mu[2], um[2] + mu[3] + mu[4]) + rho / 2 * Sd / Sw
        found.append((U, Sx / Sw, y, al))
    return found


def path(problem, solver, T, x0, rng):
    state, states = solver.init(problem, x0), []
    for t in range(T):
        state = solver.step(problem, state, t, rng)
        states.append(state)
    return states


@pytest.mark.parametrize("proximal", [False, True])
def test_naive_twin(proximal):
    base = instance("inter")
    center = np.array([0.3, 0.1, -0.2])
    problem = ProximalProblem(base, center, 0.7) if proximal else base
    x0 = center if proximal else np.zeros(3)
    solver = SMD(level=0.5)
    states = path(problem, solver, 50, x0, np.random.default_rng(0))
    options = {"rho": 0.7, "center": center} if proximal else {}
    for state, (U, w, y, alpha) in zip(states, naive(base, 0.5, 50, 1.0, **options)):
        assert solver.upper(problem, state) == pytest.approx(U, abs=1e-12)
        np.testing.assert_allclose(state.w, w, atol=1e-12)
        np.testing.assert_allclose(state.y, y, atol=1e-12)
        np.testing.assert_allclose(state.alpha, alpha, atol=1e-12)


def test_naive_twin_on_mini_batches():
    problem = instance(batch=7)
    solver = SMD(level=0.5, step_size=InverseSqrt(0.1), dual_step=InverseSqrt(2.0))
    states = path(problem, solver, 50, np.zeros(3), np.random.default_rng(5))
    rng = np.random.default_rng(5)
    indices = [rng.choice(200, 7, replace=False) for _ in range(50)]
    for state, (U, w, _, _) in zip(states, naive(problem, 0.5, 50, 0.1, 2.0, indices=indices)):
        assert solver.upper(problem, state) == pytest.approx(U, abs=1e-12)
        np.testing.assert_allclose(state.w, w, atol=1e-12)


def bregman(saddle, y, alpha, y0, alpha0):
    """``V(y, y0)``, of which `dual_step` knows the minimiser in closed form."""
    entropy = float(y @ np.log(y / y0))
    return entropy_weight(saddle) * entropy + float(y[BLOCK] @ (alpha - alpha0) ** 2)


@pytest.mark.parametrize("seed", range(8))
def test_t6_2_the_dual_step_minimises(seed):
    rng = np.random.default_rng(seed)
    saddle = with_constants(rng)
    y0, alpha0 = random_dual(rng, saddle.interval)
    u, v, tau = rng.normal(size=3), 2 * rng.normal(size=5), rng.uniform(0.1, 20)

    def objective(y, alpha):
        shares = y[BLOCK]
        linear = -u @ y - v @ (shares * alpha) + saddle.bowl * shares @ alpha**2
        return linear + bregman(saddle, y, alpha, y0, alpha0) / tau

    found = objective(*dual_step(saddle, y0, alpha0, u, v, tau))
    I = saddle.interval  # noqa: E741
    reference = min(
        minimize(
            lambda z: objective(z[:3], z[3:]),
            np.concatenate(random_dual(rng, I)),
            bounds=[(1e-9, 1)] * 3 + [(-I, I)] * 5,
            constraints={"type": "eq", "fun": lambda z: z[:3].sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        ).fun
        for _ in range(3)
    )
    assert found <= reference + 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_t6_3_the_bregman_divergence_follows_from_its_definition(seed):
    rng = np.random.default_rng(seed)
    saddle = with_constants(rng)
    W = entropy_weight(saddle)
    assert math.isclose(W, 2 * (1 + math.sqrt(2) * saddle.interval) ** 2)
    y, alpha = random_dual(rng, saddle.interval)
    y0, alpha0 = random_dual(rng, saddle.interval)

    def omega(y, z):
        return W * (y @ np.log(y) + math.log(3)) + (z**2 / y[BLOCK]).sum()

    z, z0 = y[BLOCK] * alpha, y0[BLOCK] * alpha0
    by_y = W * (np.log(y0) + 1) - np.bincount(BLOCK, z0**2 / y0[BLOCK] ** 2)
    by_z = 2 * z0 / y0[BLOCK]
    expected = omega(y, z) - omega(y0, z0) - by_y @ (y - y0) - by_z @ (z - z0)
    assert bregman(saddle, y, alpha, y0, alpha0) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    size = np.abs(y - y0).sum() ** 2 + ((z - z0) ** 2).sum()
    assert expected >= 0.5 * size  # 1-strongly convex


def test_t6_4_the_upper_estimate_is_the_maximum_over_the_dual_points():
    """No sampled point is above it, and the best point of a fine grid comes as close as the grid is fine."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        saddle = with_constants(rng)
        u, v = rng.normal(size=3), 2 * rng.normal(size=5)

        def value(weights, alpha, u=u, v=v, bowl=saddle.bowl):
            shares = weights[BLOCK]
            return u @ weights + v @ (shares * alpha) - bowl * shares @ alpha**2

        bound, I = largest_value(saddle, u, v), saddle.interval  # noqa: E741
        for _ in range(2000):
            assert value(*random_dual(rng, I)) <= bound + 1e-12
        grid, best = np.linspace(-I, I, 1001), -np.inf
        for corner in np.eye(3):
            alpha = np.zeros(5)
            for j in range(5):  # no pair's part depends on the alpha of another
                unit = np.eye(5)[j]
                own = [value(corner, alpha + (g - alpha[j]) * unit) for g in grid]
                alpha = alpha + (grid[int(np.argmax(own))] - alpha[j]) * unit
            best = max(best, value(corner, alpha))
        half = I / 1000  # of the distance of two points of the grid; a block has at most two pairs
        assert best - 1e-12 <= bound <= best + 2 * saddle.bowl * half**2


@pytest.mark.parametrize(("r", "H"), [(0.6, -0.05), (0.42, -0.02372), (0.365883, 0.0)])
def test_t6_5_the_estimate_bounds_from_above_and_tightens(r, H):
    problem = instance()
    gaps = []
    for T in (100, 400, 1600):
        solver = SMD(level=r, steps=T)
        result = solve(problem, solver, max_steps=T)
        U, P = solver.upper(problem, result.state), level_function(problem, r, result.x)
        assert H - 1e-5 <= P <= U
        gaps.append(U - H)
    assert gaps[0] > gaps[1] > gaps[2]


def test_the_reference_figures():
    problem = instance()
    solver = SMD(level=0.6, steps=3000, step_size=InverseSqrt(0.5), dual_step=InverseSqrt(50.0))
    result = solve(problem, solver, max_steps=5000)
    assert result.status is Status.STALLED
    assert result.nit == 3000
    assert solver.upper(problem, result.state) == pytest.approx(-0.04901, abs=5e-6)
    assert level_function(problem, 0.6, result.x) == pytest.approx(-0.04987, abs=5e-6)


@pytest.mark.parametrize(
    ("options", "U"), [({}, -0.0197), ({"dual_step": InverseSqrt(1.0)}, 0.004)]
)
def test_the_default_step_of_the_dual_variables_finds_a_low_level_feasible(options, U):
    """With a dual step as small as the primal one the estimate stays positive, though H is -0.0237."""
    solver = SMD(level=0.42, steps=5000, **options)
    problem = instance()
    result = solve(problem, solver, max_steps=5000)
    assert solver.upper(problem, result.state) == pytest.approx(
        U, abs=0.5 * 10.0 ** -(4 if U < 0 else 3)
    )


def test_needs_a_min_max_form():
    with pytest.raises(UnsuitableSolverError, match="min-max form"):
        solve(REFERENCES["convex"]().problem, SMD(), [0.0, 0.0])


@pytest.mark.parametrize(
    ("y", "alpha", "rule"),
    [
        ([0.5, 0.5], np.zeros(5), r"`dual_start\[0\]` must have shape \(3,\)"),
        ([0.5, 0.5, 0.0], np.zeros(4), r"`dual_start\[1\]` must have shape \(5,\)"),
        ([0.5, 0.7, -0.2], np.zeros(5), r"`dual_start\[0\]` must be weights"),
        ([0.5, 0.5, 0.5], np.zeros(5), r"`dual_start\[0\]` must be weights"),
        ([0.5, 0.5, 0.0], np.full(5, 9.0), r"`dual_start\[1\]` must have entries between"),
    ],
)
def test_a_dual_start_must_be_one_of_the_problem(y, alpha, rule):
    with pytest.raises(ValueError, match=f"SMD: {rule}"):
        solve(instance(), SMD(level=0.5, dual_start=(y, alpha)), max_steps=1)


@pytest.mark.parametrize("far", [1e6, -1e6])
def test_weights_that_are_far_apart_have_logarithms_in_range(far):
    saddle = instance().saddle()
    u = np.array([far, 0.0, far - 1e5])
    y, _ = dual_step(saddle, np.full(3, 1 / 3), np.zeros(5), u, np.zeros(5), 1e3)
    np.testing.assert_allclose(y, np.eye(3)[int(u.argmax())], atol=1e-12)


def test_a_dual_start_may_lie_on_the_boundary():
    saddle = instance().saddle()
    edge = np.full(5, saddle.interval) * [1, -1, 1, 0, 1]
    y, alpha = fitting_dual(saddle, ([0.5, 0.5, 0.0], edge))
    np.testing.assert_array_equal(alpha, edge)
    assert y.tolist() == [0.5, 0.5, 0.0]


def test_a_level_that_is_no_number_ends_a_run_as_every_value_that_is_not_finite():
    with pytest.raises(NonFiniteError, match="SMD: `level` must be finite, got nan"):
        SMD(level=math.nan)


def test_evaluations_are_counted():
    result = solve(instance(batch=5), SMD(level=0.5, steps=10), max_steps=10)
    assert (result.nfev, result.njev) == (10, 10)
