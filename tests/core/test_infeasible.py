"""Three findings where no feasible point is known: proved, locally stuck, not found."""

from dataclasses import replace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Status, certify, sets, solve
from equipoise.certificate._proof import InfeasibilityProof
from equipoise.certificate._proving import prove_infeasible
from equipoise.run._elsewhere import Elsewhere

CONVEX = Facts(convex_constraints=True)
NO_OBJECTIVE = lambda x: (0.0, np.zeros(x.size))  # noqa: E731


def under(*constraints, facts=CONVEX, domain=None, dim=None, objective=NO_OBJECTIVE):
    return FunctionProblem(objective, list(constraints), domain=domain, dim=dim, facts=facts)


def linear(row, bound):
    row = np.asarray(row, dtype=float)
    return lambda x: (float(row @ x) - bound, row)


def ball(center, radius):
    center = np.asarray(center, dtype=float)
    return lambda x: (float((x - center) @ (x - center)) - radius**2, 2 * (x - center))


def farkas(seed):
    """Rows that are contradictory by 0.3 in a known combination; feasible if one bound is loosened."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    A, w = rng.normal(size=(d + 2, d)), rng.uniform(0.1, 1.0, size=d + 2)
    A[-1] = -(w[:-1] @ A[:-1]) / w[-1]
    b = rng.normal(size=d + 2)
    b -= (w @ b + 0.3) / w.sum()
    return [linear(row, bound) for row, bound in zip(A, b)], d


INFEASIBLE = {
    "opposite rows": (under(linear([1], -1), linear([-1], -1), dim=1), [2.0]),
    "opposite rows in a box": (
        under(linear([1], -1), linear([-1], -1), domain=sets.Box(-3, 3, dim=1)),
        [2.0],
    ),
    "a sum of squares": (under(lambda x: (x @ x + 1, 2 * x), dim=3), [2.0, 1.0, 0.3]),
    "balls apart": (under(ball([0, 0], 1), ball([3, 3], 1), dim=2), [0.7, 2.0]),
    "a half-space outside an orthant": (
        under(linear([1, 0.3], -1), domain=sets.Box(0, np.inf, dim=2)),
        [3.0, 4.0],
    ),
    "a kink": (
        under(lambda x: (abs(x[0]) + 0.1, np.sign(x)), domain=sets.Box(-1, 1, dim=1)),
        [0.7],
    ),
    "just outside a ball": (
        under(linear(np.ones(5), -np.sqrt(5) - 1e-4), domain=sets.L2Ball(1.0), dim=5),
        [0.1, 0.2, 0.0, 0.3, -0.2],
    ),
    "outside a simplex": (
        under(linear([1, 1, 1], 0.9), domain=sets.Simplex(1.0), dim=3),
        [1.0, 0.0, 0.0],
    ),
    "weakly convex, small domain": (
        under(
            lambda x: (1 - x @ x, -2 * x),
            facts=Facts(weak_convexity=2.0),
            domain=sets.L2Ball(0.4),
            dim=2,
        ),
        [0.1, 0.0],
    ),
}


@pytest.mark.parametrize("name", INFEASIBLE)
def test_a_proof_is_found_and_can_be_checked(name):
    problem, x = INFEASIBLE[name]
    proof = prove_infeasible(problem, np.array(x)).proof
    assert proof.bound > 0
    assert proof.check(problem)
    assert proof.weights.sum() == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = problem.at(problem.domain.project(3 * rng.normal(size=problem.dim))).values
        assert proof.weights @ values[proof.indices] >= proof.bound


@pytest.mark.parametrize("seed", range(8))
def test_contradicting_rows_are_proved_and_loosened_ones_are_not(seed):
    rows, d = farkas(seed)
    start = np.random.default_rng(seed).normal(size=d)
    problem = under(*rows, dim=d)
    assert prove_infeasible(problem, start).proof.check(problem)
    loose = under(*rows[:-1], lambda x: (rows[-1](x)[0] - 100.0, rows[-1](x)[1]), dim=d)
    found = prove_infeasible(loose, start)
    assert found.proof is None
    assert found.excess <= 0


@pytest.mark.parametrize(
    "problem",
    [
        under(linear([-1e-8], -1), dim=1),  # feasible from x = 1e8 on
        under(linear([-1e-13], -1), dim=1),
        under(lambda x: (np.exp(-x[0]) - 1e-9, -np.exp(-x)), dim=1),
        under(ball([0, 0], 1), ball([2, 0], 1), dim=2),  # they touch
        under(linear([1], 1.0), linear([-1], -1.0), dim=1),  # one point
        under(linear(np.ones(5), -np.sqrt(5) + 1e-9), domain=sets.L2Ball(1.0), dim=5),
    ],
)
def test_what_is_feasible_is_never_proved_infeasible(problem):
    for start in (np.full(problem.dim, 0.3), -2.0 * np.ones(problem.dim)):
        assert prove_infeasible(problem, problem.domain.project(start)).proof is None


def test_a_forged_proof_does_not_pass():
    problem, x = INFEASIBLE["balls apart"]
    proof = prove_infeasible(problem, np.array(x)).proof
    assert not proof.check(under(ball([0, 0], 1), ball([1, 1], 1), dim=2))
    for forged in (
        replace(proof, weights=2 * proof.weights),
        replace(proof, weights=-proof.weights),
        InfeasibilityProof(np.array([1]), np.array([[5.0, 5.0]]), np.ones(1), np.zeros(2)),
    ):
        assert not forged.check(problem)
    unknown = under(ball([0, 0], 1), ball([3, 3], 1), dim=2, facts=Facts())
    assert not proof.check(unknown)  # nothing says that the constraints are convex


def test_a_proof_rests_on_a_center_in_the_domain():
    problem, x = INFEASIBLE["opposite rows in a box"]
    proof = prove_infeasible(problem, np.array(x)).proof
    assert not replace(proof, center=np.array([30.0])).check(problem)


def test_gradients_that_are_known_roughly_prove_nothing_far_away():
    wide = sets.Box(-1000, 1000, dim=1)
    rows = linear([1], -1), linear([-1], -1)
    proof = prove_infeasible(under(*rows, domain=wide), np.ones(1)).proof
    assert proof.check(under(*rows, domain=wide))
    assert not proof.check(under(*rows, domain=wide, facts=replace(CONVEX, rounding=1e-3)))


def test_a_run_that_proves_it_shows_the_proof():
    problem = under(
        linear([1, 0], -1),
        linear([-1, 0], -1),
        facts=Facts(smooth=True, convex=True, convex_constraints=True),
        domain=sets.Box(-3, 3, dim=2),
        objective=lambda x: (x @ x, 2 * x),
    )
    result = solve(problem, tol=1e-6)
    assert result.status is Status.INFEASIBLE
    assert result.proof.check(problem)
    assert result.proof.bound > 0.9
    assert set(result.blocking) == {"f_1", "f_2"}
    assert "at least" in result.message


def test_a_proof_below_the_tolerance_is_none():
    """By 1e-5 no point is feasible; within a tolerance of 1e-3 points are."""
    problem = under(linear([1], -1e-5), linear([-1], 0.0), domain=sets.Box(-3, 3, dim=1))
    assert prove_infeasible(problem, np.ones(1), 1e-3).proof is None
    assert prove_infeasible(problem, np.ones(1), 1e-6).proof is not None


def test_without_facts_of_convexity_stuck_is_local():
    facts = Facts(smooth=True)
    problem = under(lambda x: (x @ x + 1.0, 2 * x), facts=facts, domain=sets.Box(-2, 2, dim=2))
    result = solve(problem, x0=np.array([0.5, 1.0]), tol=1e-6)
    assert result.status is Status.LOCALLY_INFEASIBLE
    assert result.status.infeasible
    assert result.proof is None
    assert "not proved" in result.message


def test_a_budget_that_ends_on_the_way_is_not_found():
    problem = under(ball([5, 5], 1), dim=2, objective=lambda x: (x[0], np.array([1.0, 0.0])))
    result = solve(problem, "switching", np.zeros(2), tol=1e-6, max_steps=2)
    assert result.status is Status.NOT_FOUND
    assert not result.status.infeasible
    assert result.verdict.ended is Status.MAX_STEPS
    assert "step budget" in result.message


def two_hills(x):
    """Local minimum 0.6 near x = -1, and below 0 near x = 2."""
    value = 0.25 * x[0] ** 4 - x[0] ** 3 / 3 - x[0] ** 2 + 1.0
    return value, x**3 - x**2 - 2 * x


def test_starts_elsewhere_find_the_valley_that_is_feasible():
    problem = under(two_hills, facts=Facts(smooth=True), domain=sets.Box(-3, 3, dim=1))
    assert certify(problem, -np.ones(1)).violation > 0.5
    found = Elsewhere(problem, 0.0, 200).search(-np.ones(1))
    assert problem.at(found).violation == 0.0
    assert Elsewhere(problem, 0.0, 2).search(-np.ones(1)) is None


def planted(seed):
    """Non-convex constraints with a feasible point, and a start where some are broken."""
    rng = np.random.default_rng(seed)
    d, m = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    inside, constraints = rng.uniform(-1.5, 1.5, d), []
    for _ in range(m):
        A, w = rng.normal(size=(d, d)), 3 * rng.normal(size=d)
        shapes = (
            lambda x, A=A + A.T: (0.5 * x @ A @ x, A @ x),
            lambda x, w=w: (np.sin(w @ x), np.cos(w @ x) * w),
            lambda x, w=w: ((w @ x) ** 3 - 2 * (w @ x), (3 * (w @ x) ** 2 - 2) * w),
        )
        shape = shapes[rng.integers(3)]
        top = shape(inside)[0] + 0.05
        constraints.append(lambda x, f=shape, top=top: (f(x)[0] - top, f(x)[1]))
    domain = sets.Box(-2, 2, dim=d) if seed % 2 else None
    objective = lambda x: (x @ x, 2 * x)  # noqa: E731
    return under(*constraints, facts=Facts(smooth=True), domain=domain, dim=d, objective=objective)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_problems_with_a_planted_point_are_not_called_infeasible(first):
    for seed in range(first, first + 10):
        result = solve(planted(seed), tol=1e-6, max_steps=500)
        assert result.status is not Status.INFEASIBLE, seed
        assert result.status is not Status.LOCALLY_INFEASIBLE, seed


@pytest.mark.parametrize("facts", [Facts(), Facts(smooth=True)])
def test_a_run_leaves_the_maximum_of_the_violation(facts):
    outside = under(
        lambda x: (1 - x @ x, -2 * x), dim=2, facts=facts, objective=lambda x: (x @ x, 2 * x)
    )
    result = solve(outside, x0=np.zeros(2), tol=1e-6)
    assert result.status is Status.CONVERGED
    assert np.linalg.norm(result.x) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    "facts", [Facts(), Facts(smooth=True), Facts(smooth=False, weak_convexity=4.0)]
)
def test_a_run_goes_on_from_a_feasible_point_found_elsewhere(facts):
    problem = under(
        two_hills, facts=facts, domain=sets.Box(-3, 3, dim=1), objective=lambda x: (x @ x, 2 * x)
    )
    result = solve(problem, x0=-np.ones(1), tol=1e-6, max_steps=1000)
    assert result.success
    assert result.x == pytest.approx([0.957865], abs=1e-5)


def test_a_proof_with_a_negative_weight_is_refused():
    """-1 and -5 are feasible everywhere, though twice the first minus the second is positive."""
    problem = under(linear([0], 1.0), linear([0], 5.0), domain=sets.Box(-3, 3, dim=1))
    weights = np.array([2.0, -1.0])
    forged = InfeasibilityProof(np.array([1, 2]), np.zeros((2, 1)), weights, np.zeros(1))
    assert forged.measured(problem).bound > 0.0  # nothing but the sign of a weight is wrong
    assert not forged.check(problem)


def test_no_proof_is_looked_for_where_none_is_asked_for():
    problem = under(linear([1], -1), linear([-1], -1), dim=1)
    explained = solve(problem, "augmented_newton", [2.0], max_steps=200, tol=1e-6)
    assert explained.status is Status.INFEASIBLE
    brief = solve(problem, "augmented_newton", [2.0], max_steps=200, tol=1e-6, diagnose=False)
    assert brief.status is Status.NOT_FOUND
    assert brief.proof is None
    assert not brief.success
    assert brief.nfev == explained.nfev
