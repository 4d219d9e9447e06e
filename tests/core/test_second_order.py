"""Runs do not end at saddles and maxima, and say so where they must."""

from dataclasses import dataclass

import numpy as np
import pytest

from equipoise import ConstrainedClassifier, FunctionProblem, Status, certify, sets, solve
from equipoise._problem import Facts
from equipoise.certificate._curvature import violation_curvature
from equipoise.certificate._lanczos import least_products
from equipoise.problems import REFERENCES
from equipoise.run._escape import (
    MAX_DEPARTURES,
    Departures,
    from_kkt_point,
    from_violation,
    starts_stuck,
)
from equipoise.solvers import Solver

A = np.array([[2.0, 1.0, 0.0], [1.0, -1.0, 0.5], [0.0, 0.5, 3.0]])
SPHERE = [lambda x: (x @ x - 1, 2 * x), lambda x: (1 - x @ x, -2 * x)]


def square(x):
    return x @ x, 2 * x


def minus_square(x):
    return -x @ x, -2 * x


def product(x):
    return x[0] * x[1], np.array([x[1], x[0]])


def cosines(x):
    return np.cos(x).sum(), -np.sin(x)


def two_wells(x):
    return (x[0] ** 2 - 1) ** 2 + x[1] ** 2, np.array([4 * x[0] * (x[0] ** 2 - 1), 2 * x[1]])


def form(x):
    return x @ A @ x, 2 * A @ x


def minus_fourths(x):
    return -np.sum(x**4), -4 * x**3


def hidden_fourth(x):
    return (x[0] - 1) ** 2 - x[1] ** 4, np.array([2 * (x[0] - 1), -4 * x[1] ** 3])


def ridge(x):
    return 2 * x[0] - x[1] ** 2, np.array([2.0, -2 * x[1]])


def inside(radius):
    return lambda x: (x @ x - radius**2, 2 * x)


def outside(x):
    return 1 - x @ x, -2 * x


def valley(x):
    return 0.2 * x[1] ** 2 - x[0], np.array([-1.0, 0.4 * x[1]])


# objective, constraints, domain, dimension, where it is the least
SYMMETRIC = {
    "maximum in a disc": (minus_square, [inside(2.0)], None, 3, -4.0),
    "maximum of the violation": (square, [outside], None, 3, 1.0),
    "saddle in a box": (product, [], sets.Box(-1, 1, dim=2), 2, -1.0),
    "cosines": (cosines, [], sets.Box(-5, 5, dim=3), 3, -3.0),
    "two wells": (two_wells, [], None, 2, 0.0),
    "eigenvalue": (form, SPHERE, None, 3, np.linalg.eigvalsh(A)[0]),
    "eigenvalue in a ball": (form, [], sets.L2Ball(1.0), 3, np.linalg.eigvalsh(A)[0]),
    "fourth order": (minus_fourths, [], sets.Box(-1, 2, dim=1), 1, -16.0),
    "fourth order at the end": (hidden_fourth, [], sets.Box(-1, 2, dim=2), 2, -16.0),
    "corner": (minus_square, [], sets.Box(0, 1, dim=4), 4, -4.0),
    "simplex": (minus_square, [], sets.Simplex(), 4, -1.0),
    "bent constraint": (ridge, [valley], sets.L2Ball(2.0), 2, -2.10469),
}


def symmetric(name, smooth=None):
    objective, constraints, domain, dim, least = SYMMETRIC[name]
    facts = Facts(smooth=smooth)
    return FunctionProblem(objective, constraints, domain=domain, dim=dim, facts=facts), least


@pytest.mark.parametrize("smooth", [None, True])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_the_default_start_is_not_where_it_ends(name, smooth):
    problem, least = symmetric(name, smooth)
    result = solve(problem, tol=1e-6)
    assert result.success, result
    assert result.fun == pytest.approx(least, abs=1e-4)
    assert result.certificate.curvature.non_negative
    assert "curvature        non-negative" in str(result.certificate)


@pytest.mark.parametrize("solver", ["augmented_newton", "exact_penalty", "switching", "apg"])
def test_any_method_is_started_again(solver):
    problem, _ = symmetric("two wells", smooth=True)
    result = solve(problem, solver, tol=1e-3, max_steps=3000)
    assert result.success, result
    assert abs(result.x[0]) == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize("tol", [0.0, 1e-6])
def test_a_maximum_given_as_the_start_is_left(tol):
    reference = REFERENCES["active"]()
    saddle = reference.kkt[2].x
    x0 = saddle.copy()
    result = solve(reference.problem, "auto", x0, tol=tol, max_steps=100)
    np.testing.assert_array_equal(x0, saddle)
    assert reference.distance(result.x) < 1e-5
    again = solve(reference.problem, "auto", x0, tol=tol, max_steps=100)
    np.testing.assert_array_equal(result.x, again.x)
    assert (result.nit, result.nfev) == (again.nit, again.nfev)
    assert "Points left that were no minima: 1." in result.message


def test_both_signs_are_searched():
    for sign in (1, -1):

        def tilted(x, sign=sign):
            return -(x[0] ** 2) + sign * 30 * x[0] ** 3, -2 * x + sign * 90 * x**2

        problem = FunctionProblem(tilted, domain=sets.Box(-1, 1, dim=1))
        result = solve(problem, tol=1e-6)
        assert result.x[0] == -sign


def bowl(bends):
    return FunctionProblem(
        lambda x: (bends @ (x - 1) ** 2, 2 * bends * (x - 1)),
        dim=bends.size,
        facts=Facts(smooth=True),
    )


def test_a_run_on_many_rows_pays_for_the_look_at_its_end():
    """In 60 dimensions a run of a few evaluations ends without one; a longer one can afford it."""
    bends = np.linspace(1.0, 2.0, 60)
    problem = bowl(bends)
    problem.sketched = True
    short = solve(problem, "apg", tol=1e-6)
    assert short.success
    assert short.nfev < 4 * least_products(60)
    assert short.certificate.curvature is None
    bends[-1] = 1e3
    long = solve(problem, "apg", tol=1e-4)
    assert long.success
    assert long.nfev > 4 * least_products(60)
    assert long.certificate.curvature is not None


@pytest.mark.parametrize("method", ["auto", "augmented_newton"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_short_run_that_ends_at_a_saddle_of_many_variables_notices(method, turned):
    """From a start on the ridge no step leaves it: only the look at the end can tell."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(40, 40)))[0] if turned else np.eye(40)
    bends = np.where(np.arange(40) == 0, -1.0, np.linspace(0.5, 2.0, 40))

    def ridge(x):
        y = axes.T @ x
        slope = bends * y
        slope[0] += y[0] ** 3
        return 0.5 * (bends * y) @ y + 0.25 * y[0] ** 4, axes @ slope

    start = axes @ np.where(np.arange(40) == 0, 0.0, rng.normal(size=40))
    problem = FunctionProblem(ridge, dim=40, facts=Facts(smooth=True))
    without = solve(problem, method, start, tol=1e-6, second_order=False)
    assert without.success
    assert without.nfev < 4 * least_products(40)
    result = solve(problem, method, start, tol=1e-6)
    assert not result.success or result.fun == pytest.approx(-0.25, abs=1e-6)
    assert result.success or result.certificate.curvature.negative


def test_a_start_at_a_maximum_is_left_in_many_dimensions():
    bends = np.linspace(1.0, 2.0, 60)
    hill = FunctionProblem(
        lambda x: (-bends @ x**2, -2 * bends * x),
        domain=sets.L2Ball(1.0),
        dim=60,
        facts=Facts(smooth=True),
    )
    assert solve(hill, tol=1e-6).fun == pytest.approx(-2.0, abs=1e-6)


def test_without_a_budget_the_message_says_what_the_point_is():
    problem, _ = symmetric("two wells", smooth=True)
    result = solve(problem, tol=1e-6, max_steps=0)
    assert not result.success
    assert result.certificate.residual == 0.0
    assert result.certificate.curvature.negative
    assert "saddle or a maximum" in result.message
    assert "a saddle or a maximum" in str(result.certificate)


def test_it_can_be_left_out():
    problem, _ = symmetric("two wells", smooth=True)
    result = solve(problem, tol=1e-6, second_order=False)
    assert result.success
    assert result.certificate.curvature is None
    assert result.nfev == 1


def test_minima_are_not_left():
    """A flat valley, and a minimum whose curvature is small: the run ends where it ended without."""

    def flat(x):
        return (x[0] + x[1] - 1) ** 2, 2 * (x[0] + x[1] - 1) * np.ones(2)

    def shallow(x):
        return x[0] ** 2 + 1e-3 * (x[1] - 1) ** 2, np.array([2 * x[0], 2e-3 * (x[1] - 1)])

    for objective in (flat, shallow):
        problem = FunctionProblem(objective, dim=2, facts=Facts(smooth=True))
        with_it, without = (solve(problem, tol=1e-6, second_order=on) for on in (True, False))
        np.testing.assert_array_equal(with_it.x, without.x)
        assert with_it.success
        assert with_it.nfev <= without.nfev + 4


@pytest.mark.parametrize("name", ["convex", "auc"])
def test_convex_problems_are_evaluated_no_more_than_before(name):
    reference = REFERENCES[name]()
    calls = []
    problem = reference.problem
    at = problem.at
    problem.at = lambda x: calls.append(0) or at(x)
    for on in (True, False):
        solve(problem, "auto", reference.start, tol=1e-6, second_order=on)
        calls.append(None)
    middle = calls.index(None)
    assert middle == len(calls) - middle - 2


def test_a_certificate_states_the_curvature_of_kkt_points_only():
    problem, _ = symmetric("maximum in a disc")
    assert certify(problem, np.zeros(3)).curvature.negative
    assert certify(problem, np.array([2.0, 0.0, 0.0])).curvature.non_negative
    assert certify(problem, np.array([1.0, 0.0, 0.0])).curvature is None
    assert certify(problem, np.zeros(3), second_order=False).curvature is None


@pytest.mark.parametrize("name", ["eigenvalue", "two wells", "bent constraint"])
def test_a_run_that_left_a_point_is_resumed_bit_for_bit(name, tmp_path):
    problem, _ = symmetric(name)
    whole = solve(problem, tol=1e-6)
    assert whole.nit > 2
    for steps in range(whole.nit):
        path = tmp_path / f"run{steps}"
        solve(problem, tol=1e-6, max_steps=steps, checkpoint=path)
        resumed = solve(problem, tol=1e-6, checkpoint=path)
        np.testing.assert_array_equal(resumed.x, whole.x)
        assert (resumed.nit, resumed.nfev, resumed.njev) == (whole.nit, whole.nfev, whole.njev)
        assert resumed.message == whole.message


def test_a_run_that_ends_worse_returns_the_point_it_left():
    problem, _ = symmetric("two wells", smooth=True)
    saddle = certify(problem, np.zeros(2))
    past = Departures().after(3, saddle, 1e-6)
    assert (past.count, past.began) == (1, 3)
    higher, lower = certify(problem, np.array([2.0, 0.0])), certify(problem, np.array([0.5, 0.0]))
    assert past.better(higher, 1e-6) is saddle
    assert past.better(lower, 1e-6) is lower
    minimum = certify(problem, np.array([1.0, 0.0]))
    assert past.after(5, minimum, 1e-6).left is minimum
    assert past.after(5, minimum, 1e-6).after(7, saddle, 1e-6).left is minimum


def test_kinks_are_left_alone():
    def hat(x):
        return -abs(x[0]), -np.sign(x)

    known = FunctionProblem(hat, domain=sets.Box(-1, 1, dim=1), facts=Facts(smooth=False))
    assert solve(known, "switching", tol=1e-6, max_steps=5).certificate.curvature is None


def test_fits_do_not_look_at_curvature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = ConstrainedClassifier().fit(X, X[:, 0] + rng.normal(size=80) > 0)
    assert model.result_.certificate.curvature is None
    assert model.result_.status is Status.CONVERGED


@dataclass(frozen=True)
class Stubborn(Solver):
    """Goes back to 0 whatever it is given to start from."""

    def init(self, problem, x0):
        problem.at(x0)
        return np.zeros_like(x0)

    def step(self, problem, state, t, rng):
        return state

    def output(self, state):
        return state, np.zeros(0)

    def verdict(self, state):
        return Status.CONVERGED


def test_a_point_is_left_ten_times_at_the_most():
    problem, _ = symmetric("two wells", smooth=True)
    result = solve(problem, Stubborn(), tol=1e-6)
    assert not result.success
    assert result.status is Status.STALLED
    assert result.nit == 0
    assert f"no minima: {MAX_DEPARTURES}." in result.message
    assert "saddle or a maximum" in result.message


@pytest.mark.parametrize(
    ("x", "stuck"),
    [([0.0, 0.0], True), ([1e-6, 0.0], False), ([0.5, 0.0], False), ([2.0, 0.0], False)],
)
def test_a_start_is_stuck_where_nothing_has_a_slope(x, stuck):
    problem = FunctionProblem(square, [outside], dim=2)
    x = np.array(x)
    certificate = certify(problem, x, np.zeros(1), second_order=False)
    assert starts_stuck(problem, problem.at(x), certificate) == stuck
    free = FunctionProblem(two_wells, dim=2)
    certificate = certify(free, x, second_order=False)
    assert starts_stuck(free, free.at(x), certificate) == stuck


@pytest.mark.parametrize(("depth", "left"), [(0.02, False), (0.1, True)])
def test_a_violation_that_hardly_falls_is_not_worth_a_restart(depth, left):
    """From its maximum 1 the constraint falls to ``1 - depth`` and rises again."""

    def waves(x):
        return 1 - 0.5 * depth * (1 - np.cos(10 * x[0])), -5 * depth * np.sin(10 * x)

    problem = FunctionProblem(square, [waves], dim=1)
    point = problem.at(np.zeros(1))
    new = from_violation(problem, point, violation_curvature(problem, point))
    assert (new is not None) == left


def test_a_slope_within_the_residual_is_not_taken_for_a_way_out():
    def tilted(x):
        return 1e-7 * x[0] + x[1] ** 2, np.array([1e-7, 2 * x[1]])

    problem = FunctionProblem(tilted, domain=sets.Box(-1, 1, dim=2))
    certificate = certify(problem, np.zeros(2))
    assert certificate.residual == pytest.approx(1e-7)
    assert not certificate.curvature.positive
    assert from_kkt_point(problem, problem.at(np.zeros(2)), certificate) is None


def test_a_short_way_down_is_found():
    """``-x^2 + 1000 x^4`` falls from 0 to ``|x| = 0.0224``, and rises beyond 0.032."""

    def narrow(x):
        return -(x[0] ** 2) + 1e3 * x[0] ** 4, -2 * x + 4e3 * x**3

    result = solve(FunctionProblem(narrow, domain=sets.Box(-1, 1, dim=1)), tol=1e-6)
    assert result.success
    assert abs(result.x[0]) == pytest.approx(np.sqrt(1 / 2000), rel=1e-4)
