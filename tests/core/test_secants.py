"""Second order without evaluations: opposite constraints, and points that were evaluated earlier."""

import numpy as np
import pytest

from equipoise import FunctionProblem, certify, sets, solve
from equipoise.certificate._curvature import curvature_at
from equipoise.certificate._secants import secant_curvature

ROUNDING = float(np.finfo(float).eps)


def linear(a, b):
    return lambda x: (float(a @ x - b), a)


def bent(H, T, centre):
    """A quadratic with Hessian H at its centre, and a cubic of size T."""

    def function(x):
        v = x - centre
        value = 0.5 * v @ H @ v + T @ v**3 / 6
        return float(value), H @ v + 0.5 * T * v**2

    return function


def symmetric(rng, values):
    Q = np.linalg.qr(rng.normal(size=(len(values),) * 2))[0]
    return (Q * values) @ Q.T


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, x):
        self.calls += 1
        return self.function(x)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_an_equality_without_a_multiplier_excludes_its_gradient(scale):
    """The objective bends down across the equality alone; its multipliers there are 0."""
    a = np.array([0.6, 0.8])
    H = np.eye(2) - 3 * np.outer(a, a)
    x = np.array([0.3, -0.4])
    pair = [linear(a, a @ x), linear(-scale * a, -scale * (a @ x))]
    found = certify(FunctionProblem(bent(H, 0 * x, x), pair, dim=2), x).curvature
    assert found.lower == pytest.approx(1.0, abs=1e-4)


def test_opposite_constraints_with_room_between_them_exclude_nothing():
    a = np.array([0.6, 0.8])
    H = np.eye(2) - 3 * np.outer(a, a)
    band = [linear(a, 1e-9), linear(-a, 1e-9)]
    found = certify(FunctionProblem(bent(H, np.zeros(2), 0.0), band, dim=2), np.zeros(2)).curvature
    assert found.lower < -1.9


def test_the_partner_of_a_constraint_with_a_multiplier_is_not_weakly_active():
    """Where the objective bends down across the equality, there is nothing to look for."""
    a, e = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    H = np.diag([-1.0, 1.0])
    function = bent(H, np.zeros(2), 0.0)
    tilted = FunctionProblem(
        lambda x: (function(x)[0] - x[0], function(x)[1] - a),
        [linear(a, 0.0), linear(-a, 0.0)],
        dim=2,
    )
    found = certify(tilted, np.zeros(2), [1.0, 0.0]).curvature
    assert found.non_negative
    assert abs(found.direction @ e) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(20))
def test_earlier_points_tell_the_least_curvature_on_a_subspace(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 8))
    H, T = symmetric(rng, rng.uniform(1, 3, d)), rng.normal(size=d)
    normal = rng.normal(size=(int(rng.integers(0, d)), d))
    B = np.linalg.qr(normal.T)[0]
    problem = FunctionProblem(bent(H, T, np.zeros(d)), dim=d)
    earlier = [problem.at(1e-3 * rng.normal(size=d)) for _ in range(d + 3)]
    found = secant_curvature(
        problem.at(np.zeros(d)),
        np.ones(1),
        lambda v: v - B @ (B.T @ v),
        np.zeros(d),
        earlier,
        ROUNDING,
    )
    W = np.linalg.svd(np.eye(d) - B @ B.T)[0][:, : d - B.shape[1]]
    least = np.linalg.eigvalsh(W.T @ H @ W)[0]
    assert found is not None
    assert found.products == 0
    assert abs(found.value - least) <= found.error
    assert np.linalg.norm(found.direction) == pytest.approx(1.0)
    assert np.abs(B.T @ found.direction).max(initial=0.0) < 1e-12


@pytest.mark.parametrize("far", [1e-4, 1e-2, 0.09])
@pytest.mark.parametrize("seed", range(20))
def test_earlier_points_never_make_a_minimum_of_a_saddle(seed, far):
    """Nor where they have almost no part in the direction that bends down."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    H, T = symmetric(rng, np.append(rng.uniform(1, 3, d - 1), -0.1)), 3 * rng.normal(size=d)
    down = np.linalg.eigh(H)[1][:, 0]
    problem = FunctionProblem(bent(H, T, np.zeros(d)), dim=d)
    for part in (1.0, 1e-3, 1e-9, 0.0):
        steps = rng.normal(size=(d + 3, d))
        steps -= (1 - part) * np.outer(steps @ down, down)
        steps *= far / np.linalg.norm(steps, axis=1, keepdims=True)
        earlier = [problem.at(step) for step in steps]
        here = problem.at(np.zeros(d))
        assert secant_curvature(here, np.ones(1), np.array, np.zeros(d), earlier, ROUNDING) is None


def test_errors_across_a_step_are_not_believed_to_be_none():
    """Two long steps that are almost parallel: their difference is mostly how the curvature has changed."""

    def function(x):
        value = 50 * x[0] ** 2 - 0.05 * x[1] ** 2 + x[0] ** 2 * x[1]
        return float(value), np.array([100 * x[0] + 2 * x[0] * x[1], -0.1 * x[1] + x[0] ** 2])

    problem = FunctionProblem(function, dim=2)
    earlier = [problem.at(np.array(step)) for step in ([0.05, 0.0], [0.06, 1e-4])]
    here = problem.at(np.zeros(2))
    assert secant_curvature(here, np.ones(1), np.array, np.zeros(2), earlier, ROUNDING) is None


def test_a_part_that_no_step_has_gone_along_proves_nothing():
    problem = FunctionProblem(bent(np.diag([1.0, -1e6]), np.zeros(2), 0.0), dim=2)
    w = np.array([np.cos(0.1), np.sin(0.1)])
    here, earlier = problem.at(np.zeros(2)), [problem.at(np.array([1e-3, 0.0]))]
    line = lambda v: (w @ v) * w  # noqa: E731
    assert secant_curvature(here, np.ones(1), line, np.zeros(2), earlier, ROUNDING) is None


def test_far_points_and_points_that_coincide_are_left_out():
    problem = FunctionProblem(lambda x: (float(0.5 * x @ x), x), dim=1)
    here = problem.at(np.zeros(1))
    for s in (0.0, 1e-9, 0.2, 5.0):
        earlier = [problem.at(np.array([s]))]
        assert secant_curvature(here, np.ones(1), np.array, np.zeros(1), earlier, ROUNDING) is None
    assert curvature_at(problem, here, np.empty(0), 0.0, earlier=earlier).lower == pytest.approx(
        1.0, 1e-3
    )


def ellipse():
    """A quadratic on a circle, which no step hits at once."""
    objective = Counted(
        lambda x: (float(x[0] + 2 * x[1] + x[0] ** 2), np.array([1 + 2 * x[0], 2.0]))
    )
    circle = lambda x: (float(x @ x - 2), 2 * x)  # noqa: E731
    return objective, FunctionProblem(objective, [circle], domain=sets.Box(-3, 3, dim=2))


def test_a_run_that_has_come_near_looks_at_the_curvature_for_nothing():
    objective, problem = ellipse()
    result = solve(problem, tol=1e-6)
    with_look = objective.calls
    assert result.success
    assert result.certificate.curvature.lower > 0
    assert result.certificate.curvature.worth == "by differences"
    objective.calls = 0
    assert solve(problem, tol=1e-6, second_order=False).success
    assert objective.calls == with_look


def test_a_resumed_run_looks_with_the_same_points(tmp_path):
    _, problem = ellipse()
    whole = solve(problem, tol=1e-6)
    path = tmp_path / "run"
    for _ in range(whole.nit):
        result = solve(problem, tol=1e-6, checkpoint=path, max_steps=2)
        if result.success:
            break
        result = solve(problem, tol=1e-6, checkpoint=path)
    assert result.nit == whole.nit
    assert result.certificate.curvature.lower == whole.certificate.curvature.lower
    assert result.certificate.curvature.along == whole.certificate.curvature.along
