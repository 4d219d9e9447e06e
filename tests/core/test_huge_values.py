"""Values whose squares are too large for a number: certificates and runs end all the same."""

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Status, certify, sets, solve

SIZES = [1e140, 1e155, 1e161, 1e200, 1e300, 1e307]
DOMAINS = {
    "box": sets.Box(-3, 3, dim=2),
    "ball": sets.L2Ball(3.0),
    "polytope": sets.Polytope([[1.0, 2.0], [-1.0, 0.0], [0.0, -1.0]], [3.0, 2.0, 2.0]),
    "space": sets.WholeSpace(),
}
FACTS = {
    "smooth": Facts(smooth=True, convex=True, convex_constraints=True),
    "kinked": Facts(smooth=False, convex=True, convex_constraints=True),
    "weakly convex": Facts(smooth=False, weak_convexity=1.0),
    "unknown": Facts(),
}


def huge(size, objective=1.0, domain=DOMAINS["box"], facts=FACTS["unknown"], copies=1, shift=0.5):
    """|x|^2 <= 1/2 in huge units."""
    return FunctionProblem(
        lambda x: (objective * ((x - 1) @ (x - 1)), 2 * objective * (x - 1)),
        [lambda x: (size * (x @ x - shift), 2 * size * x)] * copies,
        domain=domain,
        dim=2,
        facts=facts,
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("copies", [1, 40])
@pytest.mark.parametrize("domain", DOMAINS)
def test_certify_measures_huge_values(size, copies, domain):
    problem, x = huge(size, 1e-3 * size, DOMAINS[domain], copies=copies), np.array([0.9, 0.8])
    certificate = certify(problem, x)
    assert certificate.violation == pytest.approx(0.95 * size)
    assert certificate.residual >= certificate.violation
    given = certify(problem, x, np.full(copies, 1e10))
    assert given.residual >= 0.95 * size


@pytest.mark.parametrize("size", SIZES)
def test_the_unit_does_not_change_the_multiplier(size):
    x = np.full(2, 0.5)
    certificate = certify(huge(size, size), x)
    assert certificate.multipliers == pytest.approx([1.0])
    assert certificate.stationarity <= 1e-14 * size


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("size", [1e155, 1e161, 1e250, 1e306])
@pytest.mark.parametrize("shift", [0.5, -0.5])
def test_a_run_ends_with_a_status(facts, domain, size, shift):
    problem = huge(size, domain=DOMAINS[domain], facts=FACTS[facts], shift=shift)
    result = solve(problem, x0=np.array([0.9, 0.8]), tol=1e-6, max_steps=20)
    assert result.success is (result.certificate.residual <= 1e-6 or result.near is not None)
    assert not result.success or shift > 0


@pytest.mark.parametrize("solver", ["sqp", "switching"])
@pytest.mark.parametrize("start", [(0.3, 0.7), (-0.5, 0.0)])
def test_a_second_look_that_overflows_changes_nothing(solver, start):
    problem = FunctionProblem(
        lambda x: (1e-200 * (x @ x), 2e-200 * x),
        [lambda x: (1e200 * (1 - x[0]), np.array([-1e200, 0.0]))],
        domain=sets.L2Ball(1e3),
        dim=2,
        facts=Facts(smooth=True),
    )
    with_look, without = (
        solve(problem, solver, np.array(start), tol=1e-6, max_steps=60, second_order=look)
        for look in (True, False)
    )
    assert with_look.status is without.status
    assert with_look.status is not Status.NON_FINITE


def test_a_new_start_without_a_gradient_is_not_taken():
    """Beside the saddle, where the objective is lower, its gradient is not known."""

    def saddle(x):
        gradient = np.array([2 * x[0], -2 * x[1]])
        return x[0] ** 2 - x[1] ** 2, gradient if abs(x[1]) < 1e-4 else np.full(2, np.nan)

    problem = FunctionProblem(saddle, domain=sets.Box(-1, 1, dim=2), facts=Facts(smooth=True))
    result = solve(problem, "sqp", np.array([0.5, 0.0]), tol=1e-6)
    assert result.status is not Status.NON_FINITE
    assert result.certificate.curvature.negative


def test_an_overflow_in_a_function_of_the_user_is_a_status():
    import math

    problem = FunctionProblem(
        lambda x: (math.exp(-x[0]), np.array([-math.exp(-x[0])])),
        [],
        domain=sets.Box(-5000, 5000, dim=1),
    )
    result = solve(problem, "switching", [-700.0], max_steps=50)
    assert np.isfinite(result.fun)
