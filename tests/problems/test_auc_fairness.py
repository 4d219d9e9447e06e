"""AUC-fairness with the quadratic surrogate: values, min-max form, what can be reached, wrong input."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from equipoise import pair_loss, solve
from equipoise.constraints import Subset, bind
from equipoise.metrics import subset_auc
from equipoise.models import LinearModel, MultiClassLinearModel
from equipoise.problems import REFERENCES, AUCFairness
from equipoise.problems._auc_fairness import SUBSETS_OF, pairs_of, support
from equipoise.sets import Box, L1Ball, L2Ball, WholeSpace
from tests.solvers.auc_instance import instance, rows

W = np.array([0.3, -0.2, 0.5])


def subsets(kind):
    """Which rows are in the first and in the second subset of every pair."""
    _, label, group = rows()
    atoms = 2 * (label == 1) + (group == 1)
    return np.split(pairs_of("", kind)[:, atoms], 2)


def double_loop(c1, c2, kind, w):
    """The five losses of pairs, pair by pair."""
    X = rows()[0]
    h = X @ w
    above, below = subsets(kind)
    return np.array(
        [
            np.mean([c1 * (s - t - c2) ** 2 for s in h[first] for t in h[second]])
            for first, second in zip(above, below)
        ]
    )


@pytest.mark.parametrize("kind", SUBSETS_OF)
@pytest.mark.parametrize("c1", [0.5, 1.0, 2.0])
def test_t6_1_lemma_1_against_the_double_loop(kind, c1):
    problem = instance(kind, c1=c1, c2=0.8, kappa=2.0)
    q = double_loop(c1, 0.8, kind, W)
    expected = [q[0], q[1] + q[2] - 3.0, q[3] + q[4] - 3.0]
    np.testing.assert_allclose(problem.at(W).values, expected, atol=1e-12)

    saddle = problem.saddle()
    x = saddle.lift(W)
    F, G = np.split(saddle.functions.at(x).values, 2)
    alpha = G / (2 * c1)
    np.testing.assert_allclose(F + alpha * G - c1 * alpha**2, q, atol=1e-12)
    np.testing.assert_allclose(alpha, x[3:8] - x[8:], atol=1e-12)  # at a - b
    assert (np.abs(alpha) <= saddle.interval).all()
    printed = F + G**2 / 4  # with -alpha^2
    assert np.allclose(printed, q, atol=1e-6) == (c1 == 1.0)


def test_lemma_1_is_a_minimum_over_a_and_b():
    functions = instance("inter").saddle().functions
    x = functions.lift(W)
    best = functions.at(x).values[:5]
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = np.concatenate((W, x[3:] + 0.1 * rng.normal(size=10)))
        assert (functions.at(other).values[:5] > best).all()


def test_gradients_of_the_min_max_form():
    functions = instance("inter").saddle().functions
    rng = np.random.default_rng(1)
    x, weights = rng.normal(size=13), rng.normal(size=10)
    numeric = approx_fprime(x, lambda z: functions.at(z).values @ weights, 1e-6)
    np.testing.assert_allclose(functions.at(x).vjp(weights), numeric, atol=1e-4)


def test_mini_batches_use_the_shares_of_all_rows_and_are_unbiased():
    functions = instance("inter", batch=1).saddle().functions
    x = functions.lift(W) + 0.1
    each = [functions.of_rows(np.array([i])).at(x) for i in range(200)]
    whole = functions.at(x)
    np.testing.assert_allclose(np.mean([p.values for p in each], axis=0), whole.values, atol=1e-12)
    weights = np.arange(10.0)
    np.testing.assert_allclose(
        np.mean([p.vjp(weights) for p in each], axis=0), whole.vjp(weights), atol=1e-12
    )
    drawn = functions.sample(np.random.default_rng(3)).at(x).values
    assert any(np.array_equal(drawn, p.values) for p in each)


@pytest.mark.parametrize("kind", SUBSETS_OF)
@pytest.mark.parametrize(("c1", "c2"), [(0.5, 1.0), (1.0, 1.0), (2.0, 0.3)])
def test_t6_6_the_sum_of_the_constraints_and_constant_scores(kind, c1, c2):
    problem = instance(kind, c1=c1, c2=c2, kappa=3.0)
    f = problem.at(W).values[1:] + 4.0
    X = rows()[0]
    h = X @ W
    above, below = subsets(kind)
    d = np.array([h[a].mean() - h[b].mean() for a, b in zip(above, below)])
    V = np.array([h[a].var() + h[b].var() for a, b in zip(above, below)])
    assert f.sum() == pytest.approx(2 * c1 * (d**2 + V + c2**2)[[2, 4]].sum())
    assert f.max() >= 2 * c1 * c2**2
    constant = problem.at(np.zeros(3)).values
    np.testing.assert_allclose(constant[1:] + 4.0, 2 * c1 * c2**2)
    assert constant[0] == pytest.approx(c1 * c2**2)


def test_a_kappa_that_no_scores_reach_is_refused():
    with pytest.raises(ValueError, match=r"`kappa` must be at least 2 c1 c2\^2 - 1 = 1.*got 0\.9"):
        instance(c1=1.0, c2=1.0, kappa=0.9)
    assert instance(c1=1.0, c2=1.0, kappa=1.0).at(np.zeros(3)).excess == pytest.approx(0.0)
    assert instance(kappa=0.0).at(np.zeros(3)).excess == pytest.approx(0.0)


def test_the_reference_instance():
    problem = instance()
    assert problem.interval == pytest.approx(2.29036, abs=5e-6)
    reference = REFERENCES["auc"]()
    np.testing.assert_allclose(problem.at(W).values, reference.problem.at(W).values, atol=1e-14)
    result = solve(problem, tol=1e-8)
    assert result.success
    assert result.fun == pytest.approx(0.365883, abs=1e-6)
    np.testing.assert_allclose(result.x, [0.14295, -0.09075, -0.01776], atol=1e-5)
    np.testing.assert_allclose(problem.at(result.x).constraints, 0.0, atol=1e-7)
    slsqp = minimize(
        lambda w: problem.at(w).objective,
        np.zeros(3),
        jac=lambda w: problem.at(w).gradient(0),
        constraints={"type": "ineq", "fun": lambda w: -problem.at(w).constraints},
    )
    assert result.fun == pytest.approx(slsqp.fun, abs=1e-6)


def test_it_is_what_the_constraint_language_says():
    X, label, group = rows()
    sides = [Subset(g, positive) for g in (1, -1) for positive in (True, False)]
    G1, H2, G2, H1 = sides[0], sides[1], sides[2], sides[3]
    loss = lambda above, below: pair_loss("quadratic", above, below)  # noqa: E731
    constraints = [
        loss(H1, G1) + loss(G2, H2) <= 1.05,
        loss(H2, G2) + loss(G1, H1) <= 1.05,
    ]
    binding = bind(
        constraints, (label > 0).astype(int), group, objective=loss(Subset(None, True), None)
    )
    values = binding.terms.at(X @ W).values
    np.testing.assert_allclose(instance("inter").at(W).values, values, atol=1e-12)


@pytest.mark.parametrize("kind", SUBSETS_OF)
def test_the_true_values_are_aucs_by_ranks(kind):
    problem = instance(kind)
    X = rows()[0]
    above, below = subsets(kind)
    gap = subset_auc(X @ W, above[4], below[4]) - subset_auc(X @ W, above[2], below[2])
    np.testing.assert_allclose(problem.true_values(problem.at(W)), [gap - 0.05, -gap - 0.05])


@pytest.mark.parametrize("domain", [L2Ball(2.0), L1Ball(1.5), Box([-1, 0, -2], [1, 3, 0.5])])
def test_the_support_function_is_bounded_tightly(domain):
    rng = np.random.default_rng(0)
    for _ in range(20):
        m = rng.normal(size=3)
        exact = {
            L2Ball: lambda m: 2 * np.linalg.norm(m),
            L1Ball: lambda m: 1.5 * np.abs(m).max(),
            Box: lambda m: np.maximum(m * [-1, 0, -2], m * [1, 3, 0.5]).sum(),
        }[type(domain)](m)
        assert exact <= support(domain, m) <= exact + 1e-6
    assert support(domain, np.zeros(3)) == 0.0


def test_wrong_input():
    X, label, group = rows()
    model = LinearModel(X, intercept=False)
    ball = L2Ball(2.0)
    with pytest.raises(ValueError, match="`labels` must have two values, got \\[1\\]"):
        AUCFairness(model, np.ones(200, int), group, domain=ball)
    with pytest.raises(ValueError, match="`groups` must have two values"):
        AUCFairness(model, label, np.arange(200), domain=ball)
    with pytest.raises(ValueError, match="`groups` must have positives and negatives of both"):
        AUCFairness(model, label, label, domain=ball)  # no positive outside the first group
    with pytest.raises(ValueError, match=r"`labels` must have shape \(200,\)"):
        AUCFairness(model, label[:-1], group, domain=ball)
    with pytest.raises(
        ValueError, match=r"AUCFairness: `model` must have one score a row.*\(200, 3\)"
    ):
        AUCFairness(MultiClassLinearModel(X, 3), label, group, domain=ball)
    with pytest.raises(ValueError, match="AUCFairness: `labels` must not have missing values"):
        AUCFairness(model, np.where(label > 0, 1.0, np.nan), group, domain=ball)
    with pytest.raises(ValueError, match="AUCFairness: `batch` must be at most the 200 rows"):
        AUCFairness(model, label, group, domain=ball, batch=201)
    with pytest.raises(ValueError, match="AUCFairness: `c1` must be positive"):
        AUCFairness(model, label, group, domain=ball, c1=0.0)
    with pytest.raises(ValueError, match=r"AUCFairness: `kappa` must be at least .* = inf"):
        AUCFairness(model, label, group, domain=ball, c2=1e200)
    with pytest.raises(ValueError, match="`domain` must be bounded"):
        AUCFairness(model, label, group, domain=WholeSpace())
    with pytest.raises(ValueError, match="`kind` must be one of 'group', 'inter'"):
        AUCFairness(model, label, group, kind="outer", domain=ball)
