"""The parts of PLADA, each against its formula."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from equipoise import Facts, FunctionProblem, sets
from equipoise.solvers._plada import step_lengths as lengths
from equipoise.solvers._plada.reduced import (
    ReducedLagrangian,
    StepSizeWarning,
    slack_bound,
    warn_beyond_theory,
)
from equipoise.solvers._plada.step_lengths import (
    Given,
    MeasuredLength,
    Spectral,
    StepStart,
    first_length,
)
from equipoise.solvers._plada.theta_prox_linear import _box_qp, _StepDual
from equipoise.solvers._plada.theta_steps import ExactProxStep, SubgradientStep

from .lines import line

# ------------------------------------------------------------------ PLADA's parts


def test_the_reduced_lagrangian_by_its_definition():
    mu, u_max = np.array([0.5, -2.0, 3.0]), np.array([1.0, 0.25, 9.0])
    G = np.array([-0.75, 0.5, 4.0])
    given = ReducedLagrangian(mu, 4.0, np.array([0.1, 0.2, 0.3]), u_max)
    assert given.slack(G) is given.u
    np.testing.assert_allclose(given.multipliers(G), mu + 4 * (G + given.u))
    free = ReducedLagrangian(mu, 4.0, None, u_max)
    np.testing.assert_allclose(free.slack(G), [0.625, 0.0, 0.0])
    np.testing.assert_allclose(free.slack(-3 + 0 * G), u_max * [1, 1, 0] + [0, 0, 2.25])
    lam = mu + 4 * (G + free.slack(G))
    point = SimpleNamespace(constraints=G, objective=7.0)
    assert free.value(point) == pytest.approx(7 + (lam @ lam - mu @ mu) / 8)


def test_bounds_of_slacks_and_of_their_steps():
    G = np.array([-2.0, 3.0])
    box = line([1.0], facts=Facts(lipschitz=5.0), domain=sets.Box(-1, 2, dim=1))
    np.testing.assert_allclose(slack_bound(box, G), [17.0, 15.0])
    for problem in (
        line([1.0], domain=sets.Box(-1, 2, dim=1)),
        line([1.0], facts=Facts(lipschitz=5.0)),
    ):
        assert slack_bound(problem, G).tolist() == [math.inf, math.inf]
    warn_beyond_theory(None, 2.0)
    warn_beyond_theory(0.99 / 6.0, 2.0)
    for tau in (1 / 6.0, 0.2):
        with pytest.warns(StepSizeWarning):
            warn_beyond_theory(tau, 2.0)


def measured(**facts):
    return FunctionProblem(
        lambda x: (1.5 * float(x @ x), 3 * x),
        [
            lambda x: (3 * x[0] - 9, np.array([3.0, 0.0])),
            lambda x: (4 * x[1] - 9, np.array([0.0, 4.0])),
        ],
        dim=2,
        facts=Facts(**facts),
    )


@pytest.mark.parametrize(
    ("facts", "kind", "floor"),
    [
        ({}, MeasuredLength, 0.0),
        ({"smooth": True}, Spectral, 0.0),
        ({"smooth": False}, MeasuredLength, 0.0),
        ({"smoothness": 2.0, "lipschitz": 5.0}, MeasuredLength, 0.9 / (2 + 6 * 50)),
        ({"smooth": True, "stochastic": True}, MeasuredLength, 0.0),
        (
            {"smoothness": 2.0, "lipschitz": 5.0, "stochastic": True},
            MeasuredLength,
            0.9 / (2 + 6 * 50),
        ),
        ({"smoothness": 2.0}, MeasuredLength, 0.0),
    ],
)
def test_the_first_length_suits_the_problem(facts, kind, floor):
    problem = measured(**facts)
    point = problem.at(np.array([0.6, 0.8]))
    found = first_length(problem, point, 2.0, None)
    assert type(found) is kind
    guess = 0.01 * 0.9 / (3.0 + 6 * 25)
    assert found.eta == pytest.approx(max(floor, guess))
    if kind is Spectral:
        assert found.limit == found.eta
    if kind is MeasuredLength:
        assert pytest.approx((3.0, 5.0)) == (found.L, found.M)
        assert found.floor == pytest.approx(floor)
        assert (found.seen is None) == bool(facts.get("stochastic"))
    assert first_length(problem, point, 2.0, 0.7) == Given(0.7)


@pytest.mark.parametrize(
    ("x", "domain", "size"),
    [
        ([0.6, 0.8], None, 1.0),
        ([6.0, 8.0], None, 10.0),
        ([6.0, 8.0], sets.Box(5.9, 8.1, dim=2), math.sqrt(2) * 2.2),
    ],
)
def test_the_curvature_at_the_start_is_measured_a_tenth_ahead(x, domain, size):
    seen = []
    problem = FunctionProblem(
        lambda y: (seen.append(y) or 0.0, -np.array([0.6, 0.8]) * (1 if len(seen) == 1 else 2)),
        [lambda y: (0.0, np.zeros(2))],
        domain=domain,
        dim=2,
    )
    first_length(problem, problem.at(np.array(x)), 1.0, None)
    if domain is None:
        assert np.linalg.norm(seen[-1] - x) == pytest.approx(0.1 * size)
    else:
        np.testing.assert_allclose(
            seen[-1], np.minimum(np.array(x) + 0.1 * size * np.array([0.6, 0.8]), 8.1)
        )


def test_the_way_ahead_is_as_long_whatever_the_slope():
    seen = []
    problem = FunctionProblem(
        lambda y: (seen.append(y) or 0.0, np.array([-30.0, 40.0])), dim=2, facts=Facts(smooth=True)
    )
    first_length(problem, problem.at(np.zeros(2)), 1.0, None)
    np.testing.assert_allclose(seen[-1], [0.06, -0.08])


def move(size, value, *, at=0.0, g=-1.0, limit_at=None):
    """Move along 1 times eta on a line, for an objective of choice without constraints."""
    problem = FunctionProblem(
        lambda x: (value(float(x[0])), np.array([g if x[0] == at else limit_at])), dim=1
    )
    reduced = ReducedLagrangian(np.zeros(0), 1.0, np.zeros(0), np.zeros(0))
    step = lambda problem, point, lam, eta: point.x + eta  # noqa: E731
    return size.move(StepStart(problem, problem.at(np.full(1, at)), np.zeros(0), reduced, step))


def test_spectral_steps_follow_the_curvature():
    x, after = move(
        Spectral(0.5, 9.0), lambda y: -y, limit_at=3.0
    )  # the gradient rises by 4 in 0.5
    assert x[0] == 0.5
    assert after == Spectral(pytest.approx(1 / 8.0), pytest.approx(1.03 * 9.0))
    _, after = move(
        Spectral(0.5, 9.0), lambda y: -y, limit_at=-0.99
    )  # by 0.01: 50, but not tenfold
    assert after.eta == pytest.approx(5.0)
    _, after = move(Spectral(0.5, 2.0), lambda y: -y, limit_at=-1.5)  # it falls: up to the limit
    assert (after.eta, after.limit) == pytest.approx((2.06, 2.06))
    _, after = move(Spectral(0.5, 9.0), lambda y: -y, limit_at=-1.0)
    assert after.eta == pytest.approx(5.0)


def test_spectral_steps_are_cut_until_the_function_does_not_rise():
    x, after = move(Spectral(1.0, 9.0), lambda y: 1.0 if y > 0.1 else 0.0, limit_at=-1.0)
    assert x[0] == pytest.approx(1 / 16)
    assert after.eta == pytest.approx(10 / 16)
    size = Spectral(1.0, 9.0)
    x, after = move(size, lambda y: 1.0 if y > 0 else 0.0, limit_at=-1.0)
    assert x[0] == 0.0
    assert after is size
    last = 0.25 ** (lengths.MAX_CUTS - 1)
    x, _ = move(size, lambda y: 1.0 if y > last else 0.0, limit_at=-1.0)
    assert x[0] == last


def test_measured_lengths_rise_to_their_bound():
    problem = measured()
    point = problem.at(np.array([0.6, 0.8]))
    reduced = ReducedLagrangian(np.zeros(2), 2.0, None, np.zeros(2))
    old = (np.array([0.5, 0.8]), point.constraints - [0.5, 0.0], point.gradient(0) - [0.4, 0.0])
    step = lambda problem, point, lam, eta: eta  # noqa: E731

    def moved(eta, floor=0.0, L=1.0, M=2.0, seen=old):
        place = StepStart(problem, point, np.zeros(2), reduced, step)
        return MeasuredLength(eta, floor, L, M, seen).move(place)

    eta, after = moved(1e-5)
    assert pytest.approx((4.0, 5.0)) == (after.L, after.M)
    assert eta == after.eta == pytest.approx(1.01e-5)
    assert after.seen[0] is point.x
    bound = 0.9 / (4.0 + 3 * 2.0 * 25.0)
    assert moved(1.0)[0] == pytest.approx(bound)
    assert moved(1.0, floor=0.1)[0] == 0.1
    assert moved(1.0, L=7.0, M=9.0)[1].L == 7.0
    assert moved(1.0, L=7.0, M=9.0)[0] == pytest.approx(0.9 / (7 + 6 * 81))
    for far, updated in ((0.9e-8, False), (1.1e-8, True)):
        near = (point.x - [far, 0.0], *old[1:])
        assert (moved(1e-5, seen=near)[1].seen is near) is not updated
    assert moved(1e-5, seen=None)[1].L == 1.0
    away = problem.at(np.array([300.0, 400.0]))  # where rounding errors are as much larger
    for far, updated in ((4.9e-6, False), (5.1e-6, True)):
        near = (away.x - [far, 0.0], *old[1:])
        size = MeasuredLength(1e-5, 0.0, 1.0, 2.0, near)
        _, after = size.move(StepStart(problem, away, np.zeros(2), reduced, step))
        assert (after.seen is near) is not updated
    assert lengths._bound(0.0, 0.0, 1.0) == pytest.approx(0.9e6)
    assert lengths._secant(np.ones(1), np.zeros(1)) == 0.0
    assert lengths._secant(np.array([3.0, 4.0]), np.array([0.0, 2.0])) == 2.5


def test_theta_steps_by_their_formulas():
    problem = line([2.0, 1.0], [[1.0, -1.0]], [0.0], domain=sets.Box(-1, 1, dim=2))
    point, lam = problem.at(np.array([0.5, 0.25])), np.array([-3.0])
    moved = SubgradientStep()(problem, point, lam, 0.1)
    np.testing.assert_allclose(moved, [0.5 - 0.1 * (2 - 3), 0.25 - 0.1 * (1 + 3)])
    asked = ExactProxStep(lambda v, lam, eta: (v, lam, eta))(problem, point, lam, 0.1)
    np.testing.assert_allclose(asked[0], [0.3, 0.15])
    assert asked[1:] == (lam, 0.1)


@pytest.mark.parametrize("seed", range(4))
def test_quadratic_programs_in_a_box(seed):
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(5, 3))
    H = R.T @ R / np.trace(R.T @ R)
    r = rng.normal(size=3)
    s = _box_qp(H, r)
    L = np.linalg.cholesky(H).T
    exact = lsq_linear(L, np.linalg.solve(L.T, r), (-1, 1), "bvls", tol=1e-15).x
    np.testing.assert_allclose(s, exact, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e2])
def test_the_slope_of_the_dual_is_that_of_its_value(scale):
    """Where the domain holds some of the inner minimisers; both are divided by the scale."""
    rng, domain = np.random.default_rng(0), sets.Box(-0.3, 0.3, dim=4)
    v, W, q, x = (rng.normal(size=shape) for shape in (4, (3, 4), 3, 4))
    dual, s = _StepDual(SimpleNamespace(domain=domain), v, W, q, 0.4, x), rng.uniform(-0.5, 0.5, 3)
    held = np.abs(dual.primal(s)) == 0.3
    assert held.any()
    assert not held.all()
    value, slope = dual._value(s, scale)
    for i, step in enumerate(1e-6 * np.eye(3)):
        rise = dual._value(s + step, scale)[0] - dual._value(s - step, scale)[0]
        assert slope[i] == pytest.approx(rise / 2e-6, rel=1e-6)
    y = dual.primal(s)
    lagrangian = s @ (q + W @ (y - x)) + (y - v) @ (y - v) / (2 * 0.4)
    assert value == pytest.approx(-lagrangian / scale)


@pytest.mark.parametrize("seed", range(20))
def test_quadratic_programs_in_a_box_may_be_singular_and_badly_scaled(seed):
    """The slope is 0 inside, and points outwards on the faces."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 8))
    R = rng.normal(size=(int(rng.integers(1, 9)), k)) * 10.0 ** rng.uniform(-2, 2, k)
    H, r = R.T @ R / np.trace(R.T @ R), 0.3 * rng.normal(size=k)
    s = _box_qp(H, r)
    slope = H @ s - r
    assert np.abs(s).max() <= 1.0 + 1e-15
    outwards = np.where(np.abs(s) >= 1 - 1e-9, np.maximum(np.sign(s) * slope, 0.0), np.abs(slope))
    assert outwards.max() <= 1e-10
