"""The examiner: zero at known KKT points, positive elsewhere, equal to independent solvers."""

import numpy as np
import pytest
from scipy.optimize import minimize

from equipoise import FunctionProblem, certify, near_stationarity, sets
from equipoise._problem import Point, Problem
from equipoise.certificate._infeasibility import diagnose
from equipoise.problems import REFERENCES, QuadraticProblem

KKT = [
    pytest.param(name, i, id=f"{name}-{i}")
    for name, build in REFERENCES.items()
    for i in range(len(build().kkt))
]


@pytest.mark.parametrize(("name", "i"), KKT)
def test_residual_is_zero_at_known_kkt_points(name, i):
    reference = REFERENCES[name]()
    point = reference.kkt[i]
    fitted = certify(reference.problem, point.x)
    given = certify(reference.problem, point.x, point.multipliers)
    assert fitted.residual <= 1e-9
    assert given.residual <= 1e-9
    np.testing.assert_allclose(fitted.multipliers, point.multipliers, atol=1e-7)
    assert fitted.fitted
    assert not given.fitted


@pytest.mark.parametrize(("name", "i"), KKT)
def test_residual_is_positive_near_known_kkt_points(name, i):
    reference = REFERENCES[name]()
    rng = np.random.default_rng(i)
    for _ in range(5):
        x = reference.problem.domain.project(
            reference.kkt[i].x + 0.1 * rng.normal(size=reference.problem.dim)
        )
        if np.linalg.norm(x - reference.kkt[i].x) > 1e-3:
            assert certify(reference.problem, x).residual > 1e-5


def test_t2_8_multiplier_on_the_edge_of_a_box():
    certificate = certify(REFERENCES["active"]().problem, np.array([np.sqrt(0.75), 0.5]))
    assert certificate.multipliers[0] == pytest.approx(0.5773502691896258, abs=1e-9)
    assert certificate.stationarity <= 1e-9


def _random_problem(rng, convex):
    """A smooth problem with a strictly feasible start, in 2 to 6 variables."""
    d, m = int(rng.integers(2, 7)), int(rng.integers(1, 5))
    P = rng.normal(size=(m + 1, d, d))
    P = P @ P.transpose(0, 2, 1) if convex else (P + P.transpose(0, 2, 1)) / 2
    q = rng.normal(size=(m + 1, d))
    c = np.concatenate(([0.0], -rng.uniform(0.2, 1.0, size=m)))
    return QuadraticProblem(P, q, c, sets.Box(-2.0, 2.0, dim=d))


def _slsqp(problem):
    """Solve with SciPy, its constraints and bounds; multipliers come from the result.

    Once more from the answer: rounding, which differs between processors, can stop it early.
    """
    return _slsqp_from(_slsqp_from(np.zeros(problem.dim), problem).x, problem)


def _slsqp_from(start, problem):
    m = problem.n_constraints
    return minimize(
        lambda x: problem.at(x).values[0],
        start,
        jac=lambda x: problem.at(x).gradient(0),
        method="SLSQP",
        bounds=[(-2.0, 2.0)] * problem.dim,
        constraints={
            "type": "ineq",
            "fun": lambda x: -problem.at(x).values[1:],
            "jac": lambda x: -np.array([problem.at(x).gradient(i + 1) for i in range(m)]),
        },
        options={"ftol": 1e-15, "maxiter": 500},
    )


@pytest.mark.parametrize("convex", [True, False])
def test_agrees_with_slsqp_on_random_problems(convex):
    """200 problems in all: at SLSQP's solution the residual is small, and so is its difference in
    multipliers, wherever these are unique."""
    rng = np.random.default_rng(3 + convex)
    compared = 0
    for _ in range(100):
        problem = _random_problem(rng, convex)
        answer = _slsqp(problem)
        certificate = certify(problem, problem.domain.project(answer.x))
        assert certificate.residual <= 1e-5, (answer.message, str(certificate))
        point = problem.at(answer.x)
        active = np.flatnonzero(point.constraints > -1e-6)
        free = np.abs(np.abs(answer.x) - 2.0) > 1e-6
        J = np.array([point.gradient(int(i) + 1)[free] for i in active]).reshape(
            active.size, free.sum()
        )
        unique = active.size <= free.sum() and (
            active.size == 0 or np.linalg.svd(J, compute_uv=False).min() > 1e-2
        )
        if unique and hasattr(answer, "multipliers"):
            theirs = np.asarray(answer.multipliers)[-problem.n_constraints :]
            np.testing.assert_allclose(certificate.multipliers, theirs, atol=1e-5)
            compared += 1
    assert compared >= 80 or not hasattr(answer, "multipliers")  # SciPy has them from 1.16 on


@pytest.mark.parametrize(
    "domain",
    [
        sets.WholeSpace(),
        sets.L1Ball(1.0),
        sets.L2Ball(1.0),
        sets.Simplex(1.0),
        sets.Box(-0.5, 0.5, dim=4),
        sets.Product([(sets.L1Ball(1.0), 2), (sets.Simplex(1.0), 2)]),
        sets.Polytope(np.vstack([np.eye(4), -np.eye(4), np.ones(4)]), np.r_[np.full(8, 0.6), 1.0]),
    ],
    ids=lambda domain: domain.name,
)
def test_analytic_kkt_points_on_the_boundary_of_every_set(domain):
    """A KKT point made by hand: a boundary point, a normal vector, multipliers, and the linear
    objective whose gradient balances them."""
    rng = np.random.default_rng(11)
    for _ in range(25):
        far = 3 * rng.normal(size=4)
        x = domain.project(far)  # far - x is then a normal vector at x
        lam = np.maximum(rng.normal(size=3), [0.2, 0, 0])
        P, q = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4))
        P = P + P.transpose(0, 2, 1)
        c = -(0.5 * np.einsum("i,kij,j->k", x, P, x) + q @ x) - np.where(lam > 0, 0.0, 0.05)
        slopes = P @ x + q
        problem = QuadraticProblem(
            P=np.concatenate((np.zeros((1, 4, 4)), P)),
            q=np.vstack((-(lam @ slopes) - (far - x), q)),
            c=np.concatenate(([0.0], c)),
            domain=domain,
        )
        assert certify(problem, x, lam).residual <= 1e-9
        certificate = certify(problem, x)
        assert certificate.residual <= 1e-9
        moved = domain.project(x + 0.05 * rng.normal(size=4))
        if np.linalg.norm(moved - x) > 1e-3:
            assert certify(problem, moved).residual > 1e-5


class _Counting(Problem):
    """Thousands of linear constraints; counts the gradients that are formed."""

    def __init__(self, m, d, seed=0):
        rng = np.random.default_rng(seed)
        self.dim, self.n_constraints = d, m
        self.domain = sets.WholeSpace()
        self.names = tuple(f"c{i}" for i in range(m))
        self.A = rng.normal(size=(m, d))
        self.A /= np.linalg.norm(self.A, axis=1)[:, None]
        self.target = 3 * rng.normal(size=d)
        self.formed = 0

    def at(self, x):
        values = np.concatenate(([0.5 * (x - self.target) @ (x - self.target)], self.A @ x - 1))

        def vjp(weights):
            self.formed += 1
            return weights[0] * (x - self.target) + weights[1:] @ self.A

        return Point(x, values, vjp)


def test_thousands_of_constraints_form_only_some_gradients():
    cp = pytest.importorskip("cvxpy")
    problem = _Counting(m=5000, d=10)
    x = cp.Variable(10)
    rows = [problem.A @ x <= 1]
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(x - problem.target)), rows).solve(
        solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-9
    )
    problem.formed = 0
    certificate = certify(problem, x.value, active_within=0.5)
    nearly_active = int((problem.at(x.value).constraints >= -0.5).sum())
    assert nearly_active > 200
    assert certificate.residual <= 1e-6
    assert problem.formed < nearly_active / 2
    np.testing.assert_allclose(certificate.multipliers, rows[0].dual_value, atol=1e-4)


def test_describes_the_point_given_and_says_what_is_wrong():
    reference = REFERENCES["convex"]()
    certificate = certify(reference.problem, [2.0, 0.0])
    assert certificate.violation == 3.0
    assert certificate.worst == "disc"
    assert certificate.objective == 0.0
    assert "disc" in str(certificate)
    outside = certify(reference.problem, [4.0, 0.0])
    assert outside.outside == 1.0
    assert outside.violation == 15.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0],), r"certify: `x` must have shape \(2,\)"),
        (([np.nan, 0.0],), "certify: `x` must be finite, but entry 0 is nan"),
        (([1.0, 0.0], [-1.0]), "`multipliers` must be non-negative, but entry 0 is -1"),
        (([1.0, 0.0], [1.0, 2.0]), r"`multipliers` must have shape \(1,\)"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        certify(REFERENCES["convex"]().problem, *arguments)


@pytest.mark.parametrize("examine", [certify, lambda p, x: near_stationarity(p, x, 1.0)])
def test_a_problem_that_is_none_is_named(examine):
    with pytest.raises(TypeError, match="`problem` must be a Problem, got 3"):
        examine(3, [1.0, 0.0])


def test_a_value_that_is_not_finite_is_named():
    problem = FunctionProblem(lambda x: (0.0, x), [lambda x: (np.nan, x)], dim=2, names=["recall"])
    with pytest.raises(ValueError, match=r"constraint 1 \('recall'\) is nan"):
        certify(problem, np.zeros(2))


def test_duplicated_and_opposite_constraints_share_the_multiplier():
    problem = QuadraticProblem(
        P=np.zeros((4, 2, 2)),
        q=[[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]],
        c=[0.0, 1.0, 1.0, -1.0],
        domain=sets.WholeSpace(),
    )
    certificate = certify(problem, np.array([1.0, 5.0]))
    assert certificate.residual <= 1e-12
    assert certificate.multipliers[0] + certificate.multipliers[1] == pytest.approx(
        1 + certificate.multipliers[2]
    )


def test_diagnose_finds_two_constraints_that_exclude_each_other():
    problem = QuadraticProblem(
        P=np.zeros((3, 1, 1)),
        q=[[0.0], [1.0], [-1.0]],
        c=[0.0, 1.0, 1.0],
        domain=sets.Box(-3, 3, dim=1),
        names=["left", "right"],
    )
    found = diagnose(problem, problem.at(np.array([0.0])))
    assert found.is_stationary
    assert found.violation == 1.0
    assert found.weights == pytest.approx({"left": 0.5, "right": 0.5})
    # the constraints are convex: the same combination is a proof from anywhere
    assert diagnose(problem, problem.at(np.array([2.0]))).is_stationary
    alone = QuadraticProblem(
        problem.P[:2], problem.q[:2], problem.c[:2], problem.domain, names=["left"]
    )
    assert not diagnose(alone, alone.at(np.array([2.0]))).is_stationary


def test_diagnose_does_not_combine_satisfied_constraints_that_are_not_convex():
    """x >= 1 or x <= -1 (non-convex) and x >= 0.5: feasible, but the slopes at -0.5 cancel."""
    problem = QuadraticProblem(
        P=[[[0.0]], [[-2.0]], [[0.0]]],
        q=[[0.0], [0.0], [-1.0]],
        c=[0.0, 1.0, -0.7],
        domain=sets.Box(-3, 3, dim=1),
    )
    point = problem.at(np.array([-0.5]))
    assert point.constraints[0] > 0 > point.constraints[1]
    assert not diagnose(problem, point).is_stationary


def test_diagnose_sees_stationarity_at_a_kink():
    from equipoise import Facts

    problem = FunctionProblem(
        lambda x: (0.0, np.zeros(1)),
        [lambda x: (abs(x[0]) + 1.0, np.sign(x))],
        domain=sets.Box(-3, 3, dim=1),
        facts=Facts(smooth=False, convex_constraints=True),
    )
    assert diagnose(problem, problem.at(np.array([1e-4]))).is_stationary
    assert not diagnose(problem, problem.at(np.array([1.0]))).is_stationary
