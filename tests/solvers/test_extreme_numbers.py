"""Domains that are points, slopes whose squares vanish: every method ends with a status and no warning."""

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets, solve
from equipoise.solvers import SOLVERS, UnsuitableSolverError

FACTS = Facts(smooth=True, convex=True, convex_constraints=True)


def bowl(unit, center):
    """``unit |x - center|^2 / 2``."""
    return lambda x: (unit * 0.5 * float((x - center) @ (x - center)), unit * (x - center))


def line(unit):
    """``unit (x_1 + x_2)``, or its opposite."""
    return lambda x: (unit * float(x.sum()), np.full(x.size, unit))


def ended(problem, method, start=None):
    """Return the result of a short run, or None where the method does not take such problems."""
    try:
        return solve(problem, method, start, tol=1e-6, max_steps=60)
    except UnsuitableSolverError:
        return None


POINTS = {
    "box": sets.Box([1.0, -0.5], [1.0, -0.5]),
    "rows": sets.Polytope(np.vstack((np.eye(2), -np.eye(2))), [1.0, -0.5, -1.0, 0.5]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("domain", POINTS)
@pytest.mark.parametrize("facts", [FACTS, Facts(smooth=True)])
def test_the_domain_may_be_a_point(method, domain, facts):
    objective = bowl(1.0, np.array([3.0, 3.0]))
    problem = FunctionProblem(objective, [line(-1.0)], domain=POINTS[domain], facts=facts)
    result = ended(problem, method)
    if result is not None:
        assert result.x.tolist() == [1.0, -0.5]
        assert result.certificate.residual <= 1e-12


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("unit", [1e-160, 1e-300, 1e-312])
@pytest.mark.parametrize("facts", [FACTS, Facts()])
def test_slopes_may_be_smaller_than_their_squares_can_be(method, unit, facts):
    objective = bowl(1.0, np.array([1.0, 1.0]))
    for functions in ((objective, line(unit)), (bowl(unit, np.ones(2)), line(1.0))):
        problem = FunctionProblem(
            functions[0], functions[1:], domain=sets.Box(-2, 2, dim=2), facts=facts
        )
        result = ended(problem, method, np.array([0.5, 0.25]))
        assert result is None or np.isfinite(result.x).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e100, 1e160, 1e300])
def test_a_ball_may_be_far_away(size):
    center = size * np.array([0.6, -0.8])
    problem = FunctionProblem(
        line(-1.0), domain=sets.L2Ball(size, center=center), facts=Facts(smooth=True)
    )
    x = center + size * np.array([1.0, 0.0])
    rows = problem.domain.linear_rows(x)
    assert rows is not None
    result = solve(problem, "sqp", x, tol=1e-6, max_steps=5)
    assert np.isfinite(result.x).all()


def test_the_half_space_of_a_ball_has_no_square_that_overflows():
    ball = sets.L2Ball(1e200)
    for x in (np.array([1e200, 0.0]), np.array([0.0, 5e199])):
        rows = ball.linear_rows(x)
        assert not np.isnan(rows.b).any()
        assert (rows.b >= 0).all()
