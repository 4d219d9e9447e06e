"""Rounding errors count: huge terms that cancel prove nothing, whoever gave the multipliers."""

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, certify, sets, solve
from equipoise._problem import Point, Problem
from equipoise.certificate import _rounding as rounding
from equipoise.run._verdict import examine_both
from equipoise.sets import WholeSpace

KINKED = Facts(smooth=False, convex=True, convex_constraints=True)


def sum_under_equality(scale=1.0):
    """x0 + x1 under x0 = x1, written as two inequalities: unbounded, so nothing is stationary."""
    row = scale * np.array([1.0, -1.0])
    return FunctionProblem(
        lambda x: (x[0] + x[1], np.ones(2)),
        [lambda x: (row @ x, row), lambda x: (-(row @ x), -row)],
        dim=2,
    )


def kinks_under_equality():
    target, row = np.array([0.61, 0.55]), np.array([-0.6, 0.95])
    return FunctionProblem(
        lambda x: (abs(x[0] + 0.61) + abs(x[1] + 0.55), np.sign(x + target)),
        [lambda x: (row @ x - 0.1, row), lambda x: (0.1 - row @ x, -row)],
        domain=sets.Box(-2, 2, dim=2),
        facts=KINKED,
    )


@pytest.mark.parametrize("size", [0.0, 1.0, 1e8, 1e16, 1e17, 1e100, 1e300, 1e308])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e12])
def test_multipliers_that_cancel_certify_nothing(size, scale):
    """The gradient of the Lagrangian is (1, 1) whatever the multipliers are."""
    certificate = certify(sum_under_equality(scale), np.zeros(2), [size, size])
    assert certificate.residual >= np.sqrt(2) - 1e-9


def test_a_small_residual_hides_no_larger_error():
    """The slope 1e-9 is left of terms of 1e12, which are known to 1e-4."""
    row = np.array([1.0, -1.0])
    problem = FunctionProblem(
        lambda x: (1e-9 * x.sum(), np.full(2, 1e-9)),
        [lambda x: (row @ x, row), lambda x: (-(row @ x), -row)],
        dim=2,
    )
    assert certify(problem, np.zeros(2), [1e12, 1e12]).stationarity > 1e-4
    assert certify(problem, np.zeros(2), [1.0, 1.0]).stationarity == pytest.approx(
        1.4142e-9, rel=1e-3
    )


def test_an_equality_as_two_inequalities_is_no_false_success():
    problem = kinks_under_equality()
    result = solve(problem, tol=1e-6)
    assert not result.success or result.fun == pytest.approx(0.27, abs=1e-2)
    best = certify(problem, result.x)
    assert result.certificate.residual <= best.residual


def test_the_pair_that_proves_more_is_taken_with_rounding_counted():
    problem = sum_under_equality()
    huge = np.full(2, 1e17)
    certificate = examine_both(problem, problem.at(np.zeros(2)), huge, 1e-6)
    assert certificate.fitted
    assert certificate.multipliers.max() < 10


def test_the_value_of_a_constraint_is_known_to_its_own_rounding():
    """At x = 1e8 the value 0 of ``x - 1e8`` is known to 1e-8, so a multiplier of 1e6 costs 1e-2."""
    problem = FunctionProblem(
        lambda x: (-1e6 * x[0], np.full(1, -1e6)), [lambda x: (x[0] - 1e8, np.ones(1))], dim=1
    )
    given = certify(problem, np.full(1, 1e8), [1e6])
    assert 1e-3 < given.complementarity < 1.0
    assert certify(problem, np.full(1, 1e8)).complementarity == pytest.approx(given.complementarity)


def test_an_unprecise_problem_says_how_precise():
    exact, single = (
        FunctionProblem(
            lambda x: (x[0], np.ones(1)),
            [lambda x: (-x[0], -np.ones(1))],
            dim=1,
            facts=Facts(rounding=unit),
        )
        for unit in (1e-16, 1e-7)
    )
    assert certify(exact, np.zeros(1), [1.0]).residual <= 1e-15
    assert certify(single, np.zeros(1), [1.0]).stationarity == pytest.approx(2e-7)


class Rows(Problem):
    """Constraints ``A x <= 0`` that count their backward passes."""

    def __init__(self, A, slope):
        self.A, self.slope = A, slope
        self.n_constraints, self.dim = A.shape
        self.domain, self.names = WholeSpace(), tuple(f"row {i}" for i in range(A.shape[0]))
        self.passes = 0

    def at(self, x):
        def vjp(weights):
            self.passes += 1
            return weights[0] * self.slope + weights[1:] @ self.A

        return Point(x, np.append(self.slope @ x, self.A @ x), vjp)


def test_ordinary_multipliers_cost_no_more_backward_passes():
    rng = np.random.default_rng(0)
    problem = Rows(rng.normal(size=(6, 4)), rng.normal(size=4))
    certify(problem, np.zeros(4), np.ones(6), second_order=False)
    assert problem.passes == 1


def test_many_terms_are_measured_by_a_few_random_sums():
    rng = np.random.default_rng(1)
    half = rng.normal(size=(40, 5))
    problem = Rows(np.vstack((half, -half)), np.ones(5))
    huge = np.full(80, 1e17)
    certificate = certify(problem, np.zeros(5), huge, second_order=False)
    exact = rounding.UNIT * 1e17 * np.linalg.norm(problem.A, axis=1).sum()
    assert 0.5 * exact < certificate.stationarity < 5 * exact
    assert problem.passes <= 2 + rounding.PROBES


def equality_pair(seed):
    """A convex function over an affine subspace of a box, and its least value by duality."""
    rng = np.random.default_rng(seed)
    d, kinked = int(rng.integers(2, 5)), seed % 2 == 0
    target, inside = rng.normal(size=d), rng.uniform(-1.5, 1.5, size=d)
    row = rng.normal(size=d).round(2)
    level = float(row @ inside)
    curve = rng.uniform(0.2, 3.0, size=d)
    problem = FunctionProblem(
        (lambda x: (np.abs(x - target).sum(), np.sign(x - target)))
        if kinked
        else (lambda x: (curve @ (x - target) ** 2, 2 * curve * (x - target))),
        [lambda x: (row @ x - level, row), lambda x: (level - row @ x, -row)],
        domain=sets.Box(-2, 2, dim=d),
        facts=KINKED if kinked else Facts(convex=True, convex_constraints=True, smooth=True),
    )
    return problem, _least_value(row, level, target, None if kinked else curve)


def _least_value(row, level, target, curve):
    """Maximise the dual over one multiplier; each coordinate is minimised in closed form."""

    def dual(lam):
        if curve is None:
            ends = np.array(
                [np.full(row.size, -2.0), np.full(row.size, 2.0), np.clip(target, -2, 2)]
            )
            parts = np.abs(ends - target) + lam * row * ends
        else:
            best = np.clip(target - lam * row / (2 * curve), -2, 2)[None]
            parts = curve * (best - target) ** 2 + lam * row * best
        return parts.min(axis=0).sum() - lam * level

    lower, upper = -1e3, 1e3  # the dual is concave: thirds are cut off
    for _ in range(200):
        left, right = lower + (upper - lower) / 3, upper - (upper - lower) / 3
        lower, upper = (left, upper) if dual(left) < dual(right) else (lower, right)
    return dual(0.5 * (lower + upper))


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_no_false_success_on_equalities_written_as_pairs(first):
    for seed in range(first, first + 10):
        problem, lower = equality_pair(seed)
        result = solve(problem, tol=1e-6, max_steps=1000)
        assert result.fun >= lower - 1e-4
        assert not result.success or result.fun <= lower + 1e-4, seed


def test_gradients_that_rounding_makes_up_are_not_certified():
    """At 1e12 the gradient is a difference of numbers of 1e24: what is left of it is noise."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))

    def objective(x):
        y = A @ x
        return 0.0, A.T @ (y * 1e12) - (A.T @ A) @ x * 1e12

    problem = FunctionProblem(objective, dim=4)
    x = 1e12 * rng.normal(size=4)
    certificate = certify(problem, x, second_order=False)
    given = np.linalg.norm(problem.at(x).gradient(0))
    assert certificate.stationarity > given  # as much again as it changes beside the point
    near = certify(problem, 1e-6 * x, second_order=False)
    assert near.stationarity == pytest.approx(
        np.linalg.norm(problem.at(1e-6 * x).gradient(0)), rel=1e-9
    )
