"""Second order: the least curvature on the critical cone, against dense eigenvalues."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import null_space

from equipoise import FunctionProblem, sets
from equipoise._problem import Facts
from equipoise.certificate._curvature import curvature_at, violation_curvature
from equipoise.certificate._curvature_bounds import NON_NEGATIVE_WITHIN
from equipoise.certificate._lanczos import _missing, least_curvature, least_products
from equipoise.problems import REFERENCES, QuadraticProblem


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def quadratic(A, domain=None, facts=None):
    """``x'Ax/2`` with its gradient only."""
    return FunctionProblem(
        lambda x: (0.5 * x @ A @ x, A @ x), domain=domain, dim=len(A), facts=facts
    )


def with_products(A):
    """The same with Hessian products, and without the fact that it is convex."""
    base = QuadraticProblem(P=[A], q=np.zeros((1, len(A))), c=[0.0], domain=sets.WholeSpace())
    base.facts = replace(base.facts, convex=None)
    return base


def at(problem, x, lam=(), residual=0.0):
    return curvature_at(problem, problem.at(np.asarray(x, float)), np.asarray(lam, float), residual)


@pytest.mark.parametrize("name", REFERENCES)
def test_known_points_are_told_apart(name):
    reference = REFERENCES[name]()
    for known in reference.kkt:
        found = at(reference.problem, known.x, known.multipliers)
        assert found.negative == (known.kind == "saddle")
        assert found.non_negative == (known.kind == "minimum")


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("d", [1, 2, 7, 40])
def test_all_dimensions_are_looked_at(d, exact, rng):
    A = rng.normal(size=(d, d))
    A = A + A.T
    A += (1e-3 - np.linalg.eigvalsh(A)[0]) * np.eye(d)  # the least curvature is 1e-3
    problem = with_products(A) if exact else quadratic(A)
    found = at(problem, np.zeros(d))
    assert found.non_negative
    assert found.lower <= np.linalg.eigvalsh(A)[0] <= found.upper
    assert found.upper - found.lower < 1e-5
    assert found.worth == ("proved" if exact else "by differences")


def test_a_large_space_is_searched_with_few_products(rng):
    values = np.concatenate(([-1.0], np.linspace(0.5, 10.0, 499)))
    basis = np.linalg.qr(rng.normal(size=(500, 500)))[0]
    A = basis * values @ basis.T
    found = least_curvature(lambda v: (A @ v, 0.0), lambda v: v, 500, 50)
    assert found.products <= 50
    assert found.value == pytest.approx(-1.0, abs=0.01)
    positive = least_curvature(lambda v: (A @ v + 1.2 * v, 0.0), lambda v: v, 500, 50)
    assert positive.products == 50
    assert positive.value > 0.2 - 1e-9
    assert positive.value - positive.missing <= 0.2 < positive.value + 0.1


def test_a_function_that_is_nowhere_finite_says_nothing():
    found = least_curvature(lambda v: (np.nan * v, np.inf), lambda v: v, 3, 50)
    assert math.isnan(found.value)
    assert found.products == 1


def test_the_number_of_products_is_bounded():
    """A part of the space is not looked at again with central differences: it proves nothing."""

    def objective(x):
        bends = np.linspace(1.0, 2.0, 60)
        return 0.5 * x @ (bends * x) + 1e3 * np.sum(x**3), bends * x + 3e3 * x**2

    problem = FunctionProblem(objective, dim=60)
    point, calls = problem.at(np.zeros(60)), []
    at = problem.at
    problem.at = lambda x: calls.append(x) or at(x)
    found = curvature_at(problem, point, np.zeros(0), 0.0, most=25)
    assert len(calls) == 25
    assert found.worth == "in probability"
    assert found.lower <= 1.0 <= found.upper
    exact = least_curvature(lambda v: (np.linspace(1.0, 2.0, 60) * v, 0.0), lambda v: v, 60, 25)
    assert 0.8 < exact.value - exact.missing <= 1.0


def test_repeated_eigenvalues_do_not_end_the_search_early():
    A = np.diag([2.0, 2.0, 2.0, -1e-3])
    start = np.array([1.0, 1.0, 1.0, 0.0])  # blind to the last coordinate until a new start
    project = lambda v: v  # noqa: E731
    found = least_curvature(lambda v: (A @ v, 0.0), project, 4, 50, seed=3)
    assert found.value == pytest.approx(-1e-3, rel=1e-6)
    assert abs(start @ found.direction) < 1e-6


@pytest.mark.parametrize("sign", [1, -1])
def test_the_bending_of_a_ball_counts(sign):
    """``-x'Dx/2`` on the unit ball: on the boundary at e_i the curvature is ``D_i - D_j``."""
    D = np.array([3.0, 3.0 - sign * 0.01, 1.0])
    found = at(quadratic(-np.diag(D), sets.L2Ball(1.0)), [1.0, 0.0, 0.0])
    assert found.negative == (sign < 0)
    assert found.non_negative == (sign > 0)


def test_kinks_are_not_taken_for_curvature():
    def objective(x):
        return abs(x[0]) - x[1] ** 2, np.array([np.sign(x[0]), -2 * x[1]])

    found = at(FunctionProblem(objective, dim=2), [0.0, 0.0])
    assert not found.non_negative
    known = FunctionProblem(objective, dim=2, facts=Facts(smooth=False))
    assert at(known, [0.0, 0.0]) is None


def test_convex_problems_cost_nothing():
    problem = quadratic(np.eye(3), facts=Facts(convex=True, smooth=True))
    point = problem.at(np.zeros(3))
    problem.at = None  # not callable any more
    assert curvature_at(problem, point, np.zeros(0), 0.0).non_negative


def test_weakly_active_bounds_free_the_other_side():
    """At a corner with gradient 0 the cone is an orthant: nothing is claimed of a part of it."""
    down = at(quadratic(-np.eye(5), sets.Box(0.0, 1.0, dim=5)), np.zeros(5))
    assert down.negative
    assert down.upper == pytest.approx(-1.0, abs=1e-5)
    assert (down.direction >= 0).all()
    saddle = np.array([[0.0, 1.0], [1.0, 0.0]])
    corner = at(quadratic(saddle, sets.Box(0.0, 1.0, dim=2)), np.zeros(2))
    assert not corner.negative  # no direction of the orthant bends down


def test_flat_directions_are_neither_negative_nor_called_so():
    ball = FunctionProblem(lambda x: (-x @ x, -2 * x), [lambda x: (x @ x - 4, 2 * x)], dim=3)
    for error in (0.0, 1e-7, -1e-7):
        found = at(ball, [2.0, 0.0, 0.0], [1.0 + error], residual=4e-7)
        assert not found.negative
        assert found.non_negative


def random_stationary_point(rng):
    """A random quadratic problem, a KKT point of it, and the true least curvature there."""
    d = int(rng.integers(2, 8))
    kind = rng.integers(4)
    x = rng.normal(size=d)
    m = int(rng.integers(0, d))
    P = [_symmetric(rng, d) for _ in range(m + 1)]
    lam = np.where(rng.random(m) < 0.7, rng.uniform(0.1, 3.0, size=m), 0.0)
    active = (lam > 0) | (rng.random(m) < 0.3)
    q = rng.normal(size=(m + 1, d))
    c = np.array([-(0.5 * x @ P[i] @ x + q[i] @ x) for i in range(m + 1)])
    c[1:][~active] -= 1.0
    H = P[0] + sum((lam[i] * P[1 + i] for i in range(m)), np.zeros((d, d)))
    normal, bend, fixed = np.zeros(d), 0.0, np.zeros((0, d))
    domain = sets.WholeSpace()
    if kind == 1:
        pinned = rng.random(d) < 0.4
        low, high = np.where(pinned, x, x - 1.0), x + 1.0
        domain = sets.Box(low, high)
        normal = np.where(pinned, -rng.uniform(0.1, 2.0, size=d), 0.0)
        fixed = np.eye(d)[pinned]
    if kind == 2:
        size = float(np.linalg.norm(x))
        domain, force = sets.L2Ball(size), rng.uniform(0.1, 3.0)
        normal, bend, fixed = force * x / size, force / size, x[None] / size
    rows = np.array([P[1 + i] @ x + q[1 + i] for i in range(m)]).reshape(m, d)
    q[0] = -(P[0] @ x + lam @ rows + normal)
    space = null_space(np.vstack((fixed, rows[lam > 0])))
    true = np.inf
    if space.size:
        true = np.linalg.eigvalsh(space.T @ (H + bend * np.eye(d)) @ space)[0]
    return P, q, c, domain, x, lam, true, bool((active & (lam == 0)).any())


def _symmetric(rng, d):
    A = rng.normal(size=(d, d))
    return A + A.T + rng.uniform(-1, 4) * np.eye(d)


@pytest.mark.parametrize("exact", [True, False])
def test_no_saddle_is_called_non_negative(exact, rng):
    """300 random KKT points: the sign is that of the dense matrix on the null space."""
    signs = []
    for _ in range(150):
        P, q, c, domain, x, lam, true, weak = random_stationary_point(rng)
        problem = QuadraticProblem(P=P, q=q, c=c, domain=domain)
        if not exact:
            problem = _gradients_only(problem)
        found = curvature_at(problem, problem.at(x), lam, 0.0)
        assert found.lower <= max(true, 0.0) + 1e-9 * found.largest
        assert found.non_negative == (true >= -NON_NEGATIVE_WITHIN * found.largest)
        if not weak:
            assert found.negative == (true < 0)
        signs.append(true < 0)
    assert 30 < sum(signs) < 120


def _gradients_only(base):
    problem = FunctionProblem(
        lambda x: (0.0, x),
        [lambda x: (0.0, x)] * base.n_constraints,
        domain=base.domain,
        dim=base.dim,
    )
    problem.at = lambda x: replace(base.at(x), hvp=None, curvature=None)
    return problem


def test_the_maximum_of_the_violation_is_told_from_its_minimum():
    """``1 - |x|^2 <= 0`` is most violated at 0; ``x1^2 + 1 <= 0`` the least at ``x1 = 0``."""
    ring = FunctionProblem(lambda x: (x @ x, 2 * x), [lambda x: (1 - x @ x, -2 * x)], dim=2)
    bowl = FunctionProblem(lambda x: (0.0, 0 * x), [lambda x: (x @ x + 1, 2 * x)], dim=2)
    assert violation_curvature(ring, ring.at(np.zeros(2))).negative
    found = violation_curvature(bowl, bowl.at(np.zeros(2)))
    assert found.non_negative
    assert not found.negative


@pytest.mark.parametrize("as_bound", [True, False])
@pytest.mark.parametrize(("slope", "negative"), [(0.5, False), (0.05, True)])
def test_a_rough_residual_does_not_hide_a_multiplier(slope, negative, as_bound):
    """``slope x - x^2`` for ``x >= 0``, known within 0.1: a slope of 0.5 holds the minimum at 0."""

    def objective(x):
        return slope * x[0] - x[0] ** 2 + x[1] ** 2, np.array([slope - 2 * x[0], 2 * x[1]])

    if as_bound:
        problem, lam = FunctionProblem(objective, domain=sets.Box(0, 1, dim=2)), ()
    else:
        problem = FunctionProblem(objective, [lambda x: (-x[0], np.array([-1.0, 0.0]))], dim=2)
        lam = (slope,)
    found = at(problem, [0.0, 0.0], lam, residual=0.1)
    assert found.negative == negative
    assert not found.non_negative
    assert at(problem, [0.0, 0.0], lam, residual=1e-6).non_negative


@pytest.mark.parametrize(("least", "evaluations"), [(1.0, 4), (1e-7, 4), (-1.0, 12)])
def test_clear_curvature_takes_one_evaluation_for_each_dimension(least, evaluations):
    """Where rough differences do not decide, central ones follow."""
    A = np.diag([least, 2.0, 3.0, 4.0])
    problem = quadratic(A)
    point, calls = problem.at(np.zeros(4)), []
    at = problem.at
    problem.at = lambda x: calls.append(x) or at(x)
    found = curvature_at(problem, point, np.zeros(0), 0.0)
    assert found.negative == (least < 0)
    assert found.non_negative == (least > 0)
    assert len(calls) == evaluations


def test_rough_differences_are_not_trusted_with_a_small_curvature():
    """A third derivative hides that the curvature is negative, unless both sides are looked at."""

    def objective(x):
        return -1e-3 * x[0] ** 2 + 50 * x[0] ** 3, -2e-3 * x + 150 * x**2

    found = at(FunctionProblem(objective, dim=1), [0.0])
    assert found.negative
    assert found.along == pytest.approx(-2e-3, rel=1e-3)


def test_a_function_may_refuse_points_outside_its_domain():
    """``x - 1e-5 log x`` is the least at 1e-5, nearer to where it ends than the first step is long."""

    def objective(x):
        return x[0] - 1e-5 * math.log(x[0]), 1 - 1e-5 / x

    found = at(FunctionProblem(objective, domain=sets.Box(1e-9, 1, dim=1)), [1e-5])
    assert found.non_negative
    assert found.along == pytest.approx(1e5, rel=0.1)


def test_the_violation_at_a_corner_bends_down_nowhere_in_the_domain():
    """``1 + x1 x2 <= 0`` at the corner of a box: only directions that leave it lower the violation."""

    def constraint(x):
        return 1 + x[0] * x[1], np.array([x[1], x[0]])

    box = sets.Box(0, 1, dim=2)
    problem = FunctionProblem(lambda x: (0.0, 0 * x), [constraint], domain=box)
    assert not violation_curvature(problem, problem.at(np.zeros(2))).negative
    around = FunctionProblem(lambda x: (0.0, 0 * x), [constraint], domain=sets.Box(-1, 1, dim=2))
    assert violation_curvature(around, around.at(np.zeros(2))).negative


@pytest.mark.parametrize("dim", [1, 5, 20, 21, 100, 5_000, 10**7])
def test_from_so_many_products_on_there_is_a_bound(dim):
    k = least_products(dim)
    assert k <= dim
    assert k == dim or _missing(k, dim, 1.0) < math.inf
    assert k == 1 or _missing(k - 1, dim, 1.0) == math.inf


def counted(problem, monkeypatch):
    calls = []
    at_point = type(problem).at
    monkeypatch.setattr(type(problem), "at", lambda *args: calls.append(0) or at_point(*args))
    return calls


@pytest.mark.parametrize("free", [2, 30])
def test_too_few_products_are_not_taken(free, monkeypatch):
    """In a corner of 60 dimensions with few free ones the cone is small, and is looked at."""
    d, most = 60, 6
    low = np.where(np.arange(d) < free, -1.0, 0.0)
    slope = np.where(low < 0, 0.0, 1.0)
    problem = FunctionProblem(
        lambda x: (slope @ x - 0.5 * x @ x, slope - x),
        domain=sets.Box(low, np.ones(d)),
        facts=Facts(smooth=True),
    )
    point, calls = problem.at(np.zeros(d)), counted(problem, monkeypatch)
    found = curvature_at(problem, point, np.zeros(0), 0.0, most=most)
    assert most < least_products(d)
    if free > most:
        assert found is None
        assert not calls
    else:
        assert found.negative
    assert curvature_at(problem, point, np.zeros(0), 0.0, most=least_products(d)).negative
