"""Learning problems: gradients, costs, constants, mini-batches."""

import numpy as np
import pytest
from scipy import sparse

from equipoise import demographic_parity, sets, solve
from equipoise._problem import Facts
from equipoise.constraints import bind
from equipoise.datasets import make_census
from equipoise.models import LinearModel, MultiClassLinearModel
from equipoise.problems import LearningProblem, ProximalProblem, check_problem
from equipoise.terms import (
    Combination,
    FunctionOfScores,
    Hinge,
    Logistic,
    Rates,
    Sigmoid,
    SquaredGaps,
    Terms,
    TruncatedLogistic,
    class_loss_terms,
)

N, D = 60, 5


def features(rng, kind="dense", dtype=np.float64):
    A = (rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)).astype(dtype)
    return A if kind == "dense" else sparse.csr_array(A)


def fair_terms(rng, loss=None, squares=None):
    """Mean loss; the positive rates of two groups within 0.02; an error rate."""
    y, women = rng.random(N) < 0.5, rng.random(N) < 0.4
    loss_weights = np.full((N, 1), 1 / N)
    rates = np.column_stack([women / women.sum(), ~women / (~women).sum(), (1 - 2 * y) / N])
    return Terms(
        [Rates(loss or Logistic(), loss_weights, np.where(y, 1, -1)), Rates(Sigmoid(), rates)],
        Combination(
            [[1, 0, 0, 0], [0, 1, -1, 0], [0, -1, 1, 0], [0, 0, 0, 1]],
            [0, -0.02, -0.02, y.mean() - 0.6],
            names=["F - M", "M - F", "error"],
            bent=[] if squares is None else [(0, SquaredGaps(*squares))],
        ),
    )


def terms_of(problem):
    return Terms(problem.rows.sums, problem.combination)


@pytest.fixture
def rng():
    return np.random.default_rng(20240612)


@pytest.fixture
def problem(rng):
    return LearningProblem.of(LinearModel(features(rng)), fair_terms(rng))


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("loss", [Logistic(), TruncatedLogistic()], ids=repr)
def test_gradients_and_hessian_products(kind, l2, loss, rng):
    gaps = (np.array([[0.0, 1.0, -1.0, 0.0]]), [0.1])
    model = LinearModel(features(rng, kind), scale=np.full(D, 0.5), center=np.ones(D))
    problem = LearningProblem.of(model, fair_terms(rng, loss, gaps), l2=l2)
    check = check_problem(problem, rng.normal(size=D + 1))
    check.raise_if_wrong()
    assert check.errors.max() < 1e-6
    assert check.hvp_errors.max() < 1e-6
    regularised = ProximalProblem(problem, rng.normal(size=D + 1), 0.7)
    assert regularised.at(rng.normal(size=D + 1)).push is not None  # which is checked
    check_problem(regularised, rng.normal(size=D + 1)).raise_if_wrong()


def test_multi_class_gradients_and_hessian_products(rng):
    labels = np.arange(N) % 4
    problem = LearningProblem.of(
        MultiClassLinearModel(features(rng, "csr"), 4),
        class_loss_terms(labels, np.full(4, 1.5)),
        l2=0.1,
    )
    check = check_problem(problem, rng.normal(size=problem.dim))
    check.raise_if_wrong()
    assert check.hvp_errors.max() < 1e-6
    assert problem.at(np.zeros(problem.dim)).values == pytest.approx([1.5, 0, 0, 0])


def test_callables_beside_rates(rng):
    def spread(s, y, groups):
        return float(s @ s) / len(s) - 1, 2 * s / len(s), lambda d: 2 * d / len(d)

    own = Terms(FunctionOfScores(spread, np.zeros(N)), Combination([[0], [1]], names=["spread"]))
    terms = Terms.joined([fair_terms(rng), own])
    problem = LearningProblem.of(LinearModel(features(rng)), terms)
    check_problem(problem, rng.normal(size=D + 1)).raise_if_wrong()
    assert problem.names[-1] == "spread"
    assert problem.facts.smooth
    assert problem.facts.smoothness is None


def test_sparse_equals_dense(rng):
    A, terms = features(rng), fair_terms(rng)
    options = {"scale": np.full(D, 3.0), "center": rng.normal(size=D)}
    dense = LearningProblem.of(LinearModel(A, **options), terms)
    thin = LearningProblem.of(LinearModel(sparse.csr_array(A), **options), terms)
    x, w, v = rng.normal(size=D + 1), rng.normal(size=4), rng.normal(size=D + 1)
    p, q = dense.at(x), thin.at(x)
    np.testing.assert_allclose(p.values, q.values, rtol=1e-12)
    np.testing.assert_allclose(p.vjp(w), q.vjp(w), rtol=1e-11)
    np.testing.assert_allclose(p.hvp(w, v), q.hvp(w, v), rtol=1e-11)
    assert dense.facts.smoothness == pytest.approx(thin.facts.smoothness)


def test_products_and_exponentials_are_counted(monkeypatch, rng):
    problem = LearningProblem.of(LinearModel(features(rng)), fair_terms(rng))
    features_ = problem.rows.model.features
    counts = {"A": 0, "A'": 0, "both": 0, "exp": 0}
    exp = np.exp

    def counted(name, function):
        def call(*args):
            counts[name] += 1
            return function(*args)

        return call

    features_.times = counted("A", features_.times)
    features_.transposed = counted("A'", features_.transposed)
    features_.sandwich = counted("both", features_.sandwich)
    monkeypatch.setattr(np, "exp", counted("exp", exp))
    x, w = rng.normal(size=D + 1), np.ones(4)
    point = problem.at(x)
    assert counts == {"A": 1, "A'": 0, "both": 0, "exp": 1}
    point.vjp(w)
    assert counts == {"A": 1, "A'": 1, "both": 0, "exp": 1}
    point.hvp(w, x)
    assert counts == {"A": 1, "A'": 1, "both": 1, "exp": 1}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_gradients_have_the_precision_of_x(dtype, kind, rng):
    problem = LearningProblem.of(
        LinearModel(features(rng, kind, np.float32)), fair_terms(rng), l2=0.1
    )
    x, w = np.ones(D + 1, dtype=dtype), np.ones(4)
    point = problem.at(x)
    assert point.values.dtype == np.float64
    assert point.vjp(w).dtype == point.hvp(w, x).dtype == dtype


def test_the_penalty_spares_the_intercept(rng):
    model, terms = LinearModel(features(rng)), fair_terms(rng)
    x = rng.normal(size=D + 1)
    plain, penalised = (LearningProblem.of(model, terms, l2=l2).at(x) for l2 in (0.0, 2.0))
    assert penalised.objective - plain.objective == pytest.approx(x[:-1] @ x[:-1])
    np.testing.assert_allclose(penalised.gradient(0) - plain.gradient(0), 2 * np.r_[x[:-1], 0])
    np.testing.assert_array_equal(penalised.gradient(1), plain.gradient(1))


@pytest.mark.parametrize("loss", [Logistic(), TruncatedLogistic()], ids=repr)
def test_the_facts_hold_for_1000_random_pairs(loss, rng):
    gaps = (np.array([[0.0, 1.0, -1.0, 0.0]]), [0.0])
    domain = sets.L2Ball(4.0)
    model = LinearModel(features(rng))
    problem = LearningProblem.of(model, fair_terms(rng, loss, gaps), domain=domain, l2=0.05)
    facts = problem.facts
    for _ in range(1000):
        x, y = (domain.project(rng.normal(size=D + 1) * 3) for _ in range(2))
        p, q = problem.at(x), problem.at(y)
        distance = np.linalg.norm(x - y)
        for i in range(4):
            g, h = p.gradient(i), q.gradient(i)
            below = p.values[i] + g @ (y - x) - facts.weak_convexity / 2 * distance**2
            assert q.values[i] >= below - 1e-12
            assert np.linalg.norm(g - h) <= facts.smoothness * distance + 1e-12
            assert np.linalg.norm(g) <= facts.lipschitz + 1e-12


def test_the_constants_of_each_class_loss_hold(rng):
    model = MultiClassLinearModel(features(rng), 3)
    problem = LearningProblem.of(model, class_loss_terms(np.arange(N) % 3, np.ones(3)))
    for _ in range(200):
        x, y = rng.normal(size=(2, problem.dim))
        p, q = problem.at(x), problem.at(y)
        for i in range(3):
            g, h = p.gradient(i), q.gradient(i)
            gap = np.linalg.norm(x - y)
            assert (
                q.values[i] >= p.values[i] + g @ (y - x) - problem.facts.weak_convexity / 2 * gap**2
            )
            assert np.linalg.norm(g - h) <= problem.facts.smoothness * gap
            assert np.linalg.norm(g) <= problem.facts.lipschitz


def test_facts(rng):
    model = LinearModel(features(rng), intercept=False)
    loss = Rates(Logistic(), np.full((N, 1), 1 / N), np.ones(N))
    mean = Terms(loss, Combination([[1.0], [1.0]]))
    facts = LearningProblem.of(model, mean).facts
    A = model.features.A
    assert facts.convex
    assert facts.convex_constraints
    assert facts.weak_convexity == 0
    assert facts.smoothness == pytest.approx((A**2).sum(axis=1).mean() / 4)
    assert facts.lipschitz == pytest.approx(np.linalg.norm(A, axis=1).mean())
    assert facts.lower_bound == 0.0
    assert not facts.stochastic
    assert LearningProblem.of(model, mean, l2=1.0).facts.lipschitz is None
    hinge = Terms(Rates(Hinge(), np.full((N, 1), 1 / N), np.ones(N)), Combination([[1.0]]))
    kinked = LearningProblem.of(model, hinge)
    assert not kinked.facts.smooth
    assert kinked.at(np.zeros(D)).hvp is None
    given = Facts(smoothness=7.0)
    assert LearningProblem.of(model, mean, facts=given).facts is given


def test_mini_batches_are_unbiased_and_cheap(rng):
    problem = LearningProblem.of(
        LinearModel(features(rng, "csr")), fair_terms(rng), l2=0.1, batch=12
    )
    assert problem.facts.stochastic
    x, w = rng.normal(size=D + 1), np.array([1.0, 0.5, 0.2, 0.3])
    full = LearningProblem.of(problem.rows.model, terms_of(problem), l2=0.1).at(x)
    draws = np.random.default_rng(1)
    values, gradients = [], []
    for _ in range(1500):
        part = problem.sample(draws)
        assert part.rows.n_rows == 12
        assert part.sample(draws) is part
        point = part.at(x)
        values.append(point.values)
        gradients.append(point.vjp(w))
    for found, expected in ((values, full.values), (gradients, full.vjp(w))):
        spread = np.std(found, axis=0) / np.sqrt(len(found))
        assert (np.abs(np.mean(found, axis=0) - expected) <= 5 * spread + 1e-12).all()


def test_a_batch_of_all_rows_is_the_problem(problem, rng):
    whole = LearningProblem.of(problem.rows.model, terms_of(problem), batch=N)
    x = rng.normal(size=D + 1)
    part = whole.sample(np.random.default_rng(0))
    np.testing.assert_allclose(part.at(x).values, problem.at(x).values, rtol=1e-12)
    assert problem.sample(rng) is problem


def test_sampling_is_reproducible(problem, rng):
    small = LearningProblem.of(problem.rows.model, terms_of(problem), batch=5)
    x = rng.normal(size=D + 1)
    first, second = (small.sample(np.random.default_rng(3)).at(x).values for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_hard_values_and_other_terms(problem, rng):
    x = rng.normal(size=D + 1)
    np.testing.assert_array_equal(
        problem.thresholded(x), terms_of(problem).thresholded(problem.rows.model.scores(x))
    )
    sharp = problem.sharpened(100.0).shifted(0.01)
    assert sharp.names == problem.names
    assert sharp.facts.smoothness > problem.facts.smoothness
    gap = np.abs(sharp.at(x).values - problem.thresholded(x))[1:] - 0.01
    assert gap.max() < np.abs(problem.at(x).values - problem.thresholded(x))[1:].max()


def test_solve_takes_it(problem):
    result = solve(problem, "switching", max_steps=300)
    assert result.x.shape == (D + 1,)
    assert result.certificate.violation < 0.02


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l2": -1}, "LearningProblem: `l2` must be non-negative"),
        ({"batch": 0}, "`batch` must be an integer of at least 1"),
        ({"batch": N + 1}, "`batch` must be at most the 60 rows"),
        ({"names": ["a"]}, "`names` must have 3 entries"),
        ({"domain": sets.Box(-1, 1, dim=2)}, "`domain` must have the model's dimension 6"),
    ],
)
def test_wrong_input(options, message, rng):
    with pytest.raises(ValueError, match=message):
        LearningProblem.of(LinearModel(features(rng)), fair_terms(rng), **options)


def test_model_and_terms_must_be_over_the_same_rows(rng):
    with pytest.raises(ValueError, match="`terms` must be over the model's 3 rows, got 60"):
        LearningProblem.of(LinearModel(np.ones((3, 2))), fair_terms(rng))


def test_tensors(rng):
    torch = pytest.importorskip("torch")
    A, terms = features(rng), fair_terms(rng)
    x, w, v = rng.normal(size=D + 1), rng.normal(size=4), rng.normal(size=D + 1)
    p = LearningProblem.of(LinearModel(A), terms, l2=0.1).at(x)
    q = LearningProblem.of(LinearModel(torch.from_numpy(A)), terms, l2=0.1).at(torch.from_numpy(x))
    np.testing.assert_allclose(q.values, p.values, rtol=1e-12)
    np.testing.assert_allclose(q.vjp(w).numpy(), p.vjp(w), rtol=1e-11)
    np.testing.assert_allclose(q.hvp(w, torch.from_numpy(v)).numpy(), p.hvp(w, v), rtol=1e-11)


def test_what_is_known_of_a_sharper_problem_is_not_that_of_a_rounded_one_or_of_a_batch(rng):
    def make():
        terms = fair_terms(np.random.default_rng(3), loss=Hinge())
        return LearningProblem.of(LinearModel(features(np.random.default_rng(4))), terms, batch=7)

    used = make()
    used.smoothed(0.1).sharpened(2.0)
    used.sample(rng).sharpened(2.0)
    assert used.sharpened(2.0).facts == make().sharpened(2.0).facts
    assert used.sharpened(2.0).facts.smooth is False


def test_a_sharpened_problem_knows_nothing_of_the_old_curvature(rng):
    """Where the curvature is estimated from a sample, the sample's functions are sharpened too."""
    n = 40_000
    A, women = rng.normal(size=(n, 3)), rng.random(n) < 0.4
    rates = np.column_stack([women / women.sum(), ~women / (~women).sum()])
    weights, x = np.array([1.0, 1.0]), np.full(4, 0.5)

    def make():
        loss = Rates(Logistic(), np.full((n, 1), 1 / n), np.where(A[:, 0] > 0, 1, -1))
        terms = Terms([loss, Rates(Sigmoid(), rates)], Combination([[1, 0, 0], [0, 1, -1]]))
        return LearningProblem.of(LinearModel(A), terms)

    used = make()
    plain = used.at(x).curvature(weights)
    assert len(used.rows.model.sketch().index) < n
    expected = make().sharpened(5.0).at(x).curvature(weights)
    np.testing.assert_array_equal(used.sharpened(5.0).at(x).curvature(weights), expected)
    assert not np.allclose(plain, expected)


def test_a_tensor_may_be_the_start_where_the_features_are_arrays(rng):
    torch = pytest.importorskip("torch")
    A, terms = features(rng), fair_terms(rng)
    problem = LearningProblem.of(LinearModel(A), terms, l2=0.1)
    expected = solve(problem, "augmented_newton", np.zeros(D + 1), tol=1e-6)
    result = solve(problem, "augmented_newton", torch.zeros(D + 1, dtype=torch.float64), tol=1e-6)
    assert expected.success
    assert result.success
    np.testing.assert_allclose(np.asarray(result.x), expected.x, atol=1e-4)


def test_a_product_takes_a_direction_of_whole_numbers():
    """SciPy asks for such products to learn their type."""
    data = make_census(60, seed=0)
    terms = bind(demographic_parity(0.1), data.y, data.groups).terms
    problem = LearningProblem.of(LinearModel(data.X), terms, l2=0.1)
    point, weights = problem.at(np.zeros(problem.dim)), np.ones(problem.n_constraints + 1)
    direction = np.arange(problem.dim, dtype=np.int8) % 3
    found = point.hvp(weights, direction)
    np.testing.assert_array_equal(found, point.hvp(weights, direction.astype(np.float64)))
