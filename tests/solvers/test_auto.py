"""`auto`: what it chooses, and what that reaches where functions have kinks or noise."""

import cvxpy as cp
import numpy as np
import pytest

from equipoise import (
    ConstrainedClassifier,
    Facts,
    FunctionProblem,
    Point,
    Problem,
    Status,
    sets,
    solve,
)
from equipoise.constraints import demographic_parity, recall
from equipoise.datasets import make_census
from equipoise.models import LinearModel
from equipoise.problems import REFERENCES, LearningProblem
from equipoise.solvers import (
    IQRC,
    SQP,
    AugmentedNewton,
    ConstrainedBundle,
    LevelSet,
    Sequence,
    Smoothing,
    SwitchingSubgradient,
    choose,
)
from equipoise.terms import Combination, FunctionOfScores, Hinge, Logistic, Rates, Terms
from tests.core.test_kinks import exact
from tests.solvers.hinges import epigraph, hinge_problem
from tests.solvers.test_random_problems import problem as random_problem
from tests.solvers.test_random_problems import start

CONVEX = Facts(smooth=False, convex=True, weak_convexity=0.0)


def bowl(facts):
    return FunctionProblem(
        lambda x: (abs(x[0]), np.sign(x)), domain=sets.Box(-1, 1, dim=1), facts=facts
    )


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (CONVEX, ConstrainedBundle),
        (Facts(smooth=False, weak_convexity=0.0), ConstrainedBundle),
        (Facts(smooth=False), SwitchingSubgradient),
        (Facts(smooth=False, stochastic=True), SwitchingSubgradient),
    ],
)
def test_the_choice_follows_the_facts(facts, kind):
    assert type(choose(bowl(facts))) is kind


@pytest.mark.parametrize(
    ("facts", "kinds"),
    [
        (Facts(smooth=True), (SQP, AugmentedNewton)),
        (Facts(), (SQP, SwitchingSubgradient)),
        (Facts(smooth=False, weak_convexity=1.0), (SwitchingSubgradient, IQRC)),
        (Facts(smooth=True, stochastic=True), (SwitchingSubgradient, Sequence)),
        (
            Facts(smooth=False, convex=True, stochastic=True),
            (SwitchingSubgradient, ConstrainedBundle),
        ),
    ],
)
def test_the_choice_of_two_methods(facts, kinds):
    chosen = choose(bowl(facts))
    assert isinstance(chosen, Sequence)
    assert (type(chosen.first), type(chosen.second)) == kinds


def test_many_variables_or_constraints_are_too_much_for_quadratic_programs():
    def convex(d, m):
        rows = [lambda x: (-1.0, 0 * x)] * m
        return FunctionProblem(lambda x: (np.abs(x).sum(), np.sign(x)), rows, dim=d, facts=CONVEX)

    assert type(choose(convex(300, 1))) is ConstrainedBundle
    assert type(choose(convex(301, 1))) is LevelSet
    assert type(choose(convex(1, 1000))) is ConstrainedBundle
    assert type(choose(convex(1, 1001))) is LevelSet


def test_kinks_that_can_be_rounded_are():
    assert type(choose(hinge_problem())) is Smoothing
    assert type(choose(hinge_problem(batch=10)).second) is Smoothing


def test_convex_kinks_are_solved_far_beyond_what_switching_reaches():
    for i in (2, 18, 50):
        _, instance = random_problem(i)
        x0 = start(i, instance.dim)
        result = solve(instance, x0=x0, max_steps=3000, tol=1e-2)
        assert result.success, (i, result)
        assert instance.at(result.x).violation <= 1e-2
        assert np.linalg.norm(result.x - exact(i)) <= 1e-2
        fine = solve(instance, x0=x0, max_steps=3000, tol=1e-4)
        assert np.linalg.norm(fine.x - exact(i)) <= 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_weakly_convex_kinks_are_certified(seed):
    """min mean |(a'x)^2 - b|  s.t.  |x'Qx + q'x| <= 0.3."""
    rng = np.random.default_rng(seed)
    A, Q, q = rng.normal(size=(6, 2)), rng.normal(size=(2, 2)), rng.normal(size=2)
    b, Q = (A @ rng.normal(size=2)) ** 2 + 0.3 * rng.normal(size=6), (Q + Q.T) / 2

    def objective(x):
        r = (A @ x) ** 2 - b
        return np.abs(r).mean(), 2 * A.T @ (np.sign(r) * (A @ x)) / 6

    def band(x):
        v = x @ Q @ x + q @ x
        return abs(v) - 0.3, np.sign(v) * (2 * Q @ x + q)

    rho = 2 * max(np.linalg.norm(A.T @ A / 6, 2), np.linalg.norm(Q, 2))
    facts = Facts(smooth=False, convex=False, convex_constraints=False, weak_convexity=rho)
    problem = FunctionProblem(objective, [band], domain=sets.Box(-3.0, 3.0, dim=2), facts=facts)
    result = solve(problem, x0=rng.uniform(-1, 1, 2), max_steps=4000, tol=2e-2)
    assert result.success, result
    assert problem.at(result.x).violation <= 2e-2


def test_infeasible_kinks_are_no_success():
    problem = FunctionProblem(
        lambda x: (abs(x[0]), np.sign(x)),
        [lambda x: (abs(x[0]) + 0.1, np.sign(x))],
        domain=sets.Box(-1, 1, dim=1),
        facts=CONVEX,
    )
    result = solve(problem, x0=[0.7], tol=1e-3, max_steps=3000)
    assert not result.success
    assert result.status is Status.INFEASIBLE
    assert result.maxcv >= 0.1


@pytest.mark.parametrize("loss", [None, Logistic()])
def test_mini_batches_end_at_the_solution_of_the_whole(loss):
    """Averages over batches of 10 would stop at their noise, about 1e-1."""
    whole, batches = hinge_problem(2, loss=loss), hinge_problem(2, loss=loss, batch=10)
    assert batches.facts.stochastic
    result = solve(batches, tol=1e-6, seed=3)
    assert result.success, result
    assert result.fun == pytest.approx(solve(whole, tol=1e-6).fun, abs=1e-6)
    if loss is None:
        assert result.fun == pytest.approx(epigraph(whole)[1], abs=1e-6)
    assert whole.at(result.x).violation <= 1e-6


def test_a_problem_that_draws_mini_batches_is_stochastic_without_being_told():
    class Batches(Problem):
        dim, n_constraints, names, domain = 1, 0, (), sets.Box(-1, 1, dim=1)
        facts = Facts(smooth=True)
        noise = 0.0

        def at(self, x):
            shifted = x - self.noise
            return Point(x, np.array([shifted @ shifted]), lambda w: 2 * w[0] * shifted)

        def sample(self, rng):
            batch = Batches()
            batch.noise = rng.normal()
            return batch

    problem = Batches()
    assert problem.stochastic
    assert not problem.facts.stochastic
    assert type(choose(problem).first) is SwitchingSubgradient
    assert SQP().needs[-1].missing(problem, np.zeros(1))
    assert solve(problem, x0=[0.7], tol=1e-6).success


def test_infeasible_mini_batches_are_no_success():
    result = solve(hinge_problem(bound=-0.1, batch=10), tol=1e-3, max_steps=3000)
    assert not result.success
    assert result.maxcv >= 0.1


def test_a_smooth_reference_is_solved_as_before():
    reference = REFERENCES["convex"]()
    result = solve(reference.problem, x0=reference.start, tol=1e-8)
    assert result.success
    assert reference.distance(result.x) <= 1e-6


@pytest.mark.parametrize("constraint", [demographic_parity(0.02), recall(at_least=0.8)])
def test_hinge_estimators_are_certified_and_keep_their_bounds(constraint):
    data = make_census(2000)
    model = ConstrainedClassifier([constraint], loss="hinge")
    model.fit(data.X, data.y, sensitive_features=data.groups)
    assert model.status_ is Status.CONVERGED
    assert model.result_.success
    assert model.result_.near.residual <= model.tol
    positive = model.predict(data.X) == model.classes_[1]
    if constraint.name == "demographic parity":
        rates = [positive[np.asarray(data.groups) == g].mean() for g in np.unique(data.groups)]
        assert max(rates) - min(rates) <= 0.02 + 1e-12
    else:
        assert positive[np.asarray(data.y) == model.classes_[1]].mean() >= 0.8 - 1e-12


def two_hinges(seed, n=306, d=9):
    """The hinge loss of all rows under a bound on that of the first third, a little above its least."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    sign = np.where(X @ np.ones(d) + rng.normal(size=n) > -0.5, 1, -1)
    some = np.arange(n) < n // 3
    weights = np.column_stack((np.full(n, 1 / n), some / some.sum()))
    w = cp.Variable(d + 1)
    losses = cp.pos(1 - cp.multiply(sign, np.column_stack((X, np.ones(n))) @ w))
    least = cp.Problem(cp.Minimize(weights[:, 1] @ losses)).solve(solver=cp.CLARABEL)
    bound = least + 0.01

    def problem(bound):
        combination = Combination(np.eye(2), [0.0, -bound], names=["some"])
        terms = Terms(Rates(Hinge(), weights, sign), combination)
        return LearningProblem.of(LinearModel(X), terms, l2=1e-4)

    goal = weights[:, 0] @ losses + 0.5e-4 * cp.sum_squares(w[:d])
    best = cp.Problem(cp.Minimize(goal), [weights[:, 1] @ losses <= bound]).solve(
        solver=cp.CLARABEL
    )
    return problem(bound), best, problem(least - 0.02)


@pytest.mark.parametrize("seed", [4, 7])
def test_convex_hinge_constraints(seed):
    """Against cvxpy; cutting planes go on where rounded kinks stall."""
    problem, best, hopeless = two_hinges(seed)
    chosen = choose(problem)
    assert (type(chosen.first), type(chosen.second)) == (Smoothing, LevelSet)
    result = solve(problem, tol=1e-6, max_steps=4000)
    assert result.success
    assert result.fun == pytest.approx(best, abs=1e-6)
    found = solve(hopeless, tol=1e-6, max_steps=4000)
    assert not found.success
    assert found.certificate.violation == pytest.approx(0.02, rel=0.05)  # no point breaks it less


def test_kinks_without_second_derivatives_are_not_rounded():
    """Newton's method by differences would need thousands of evaluations for every width."""
    base = hinge_problem()

    def cap(s, y, groups):
        return float(np.mean(s**2)) - 1.0, 2 * s / len(s)

    own = Terms(FunctionOfScores(cap, np.ones(base.rows.n_rows)), Combination([[0.0], [1.0]]))
    terms = Terms.joined([Terms(base.rows.sums, base.combination), own])
    problem = LearningProblem.of(base.rows.model, terms, l2=base.l2)
    assert problem.smoothed(1.0) is not None
    assert type(choose(problem)) is SwitchingSubgradient
