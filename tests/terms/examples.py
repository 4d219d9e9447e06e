"""Small terms of every kind for the tests."""

import numpy as np
from scipy import sparse

from equipoise.terms import (
    Combination,
    Correlation,
    FunctionOfScores,
    Logistic,
    PairSums,
    Rates,
    Ratio,
    Sigmoid,
    SigmoidPair,
    SquaredGaps,
    SquaredHingePair,
    Terms,
    TruncatedLogistic,
    class_loss_terms,
    fixed_predictions,
    ranking_terms,
)

N = 40


def rate_terms(n=N, seed=0, squares=False, loss=None, ratio=False):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(n) < 0.4, 1, -1)
    losses = np.column_stack([np.full(n, 1 / n), rng.random(n) * (rng.random(n) < 0.5)])
    signed = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.4) / n
    sums = [
        Rates(loss or Logistic(), losses, sign),
        Rates(Sigmoid(1.5), sparse.csr_array(signed)),
    ]
    C = rng.normal(size=(4, 5))
    C[0, 0] = 1.0
    bent = []
    if squares:
        Q = rng.normal(size=(2, 5)) * [0, 0, 1, 1, 1]
        bent.append((0, SquaredGaps(Q, rng.normal(size=2))))
    offsets = rng.normal(size=4)
    if ratio:
        below = np.array([0.5, 0.2, 0.0, 0.3, 0.0])
        bent.append((2, Ratio((rng.normal(size=5), 0.1), (below, 2.0))))
    return Terms(sums, Combination(C, offsets, bent=bent))


def correlated(n=N, seed=4):
    """A correlation as a penalty, and as two bounds."""
    rng = np.random.default_rng(seed)
    sums, variance = Correlation.sums(rng.normal(size=n))
    inside = Correlation(variance).placed(1)
    loss = Rates(Logistic(), np.full((n, 1), 1 / n), np.where(rng.random(n) < 0.4, 1, -1))
    bent = [(0, inside.times(0.3)), (1, inside), (2, inside.times(-1.0))]
    return Terms([loss, *sums], Combination(np.eye(3, 4), [0.0, -0.1, -0.1], bent=bent))


def class_terms(n=N, K=4, seed=1, **options):
    rng = np.random.default_rng(seed)
    labels = np.r_[np.arange(K), rng.integers(0, K, n - K)]
    return class_loss_terms(
        labels, np.full(K, 0.7), objective=1, sample_weight=rng.random(n) + 0.1, **options
    )


def spread(scores, y, groups):
    """The mean square of the scores of one group, minus 1."""
    inside = (groups == "a") / len(y)
    return float(inside @ scores**2) - 1, 2 * inside * scores, lambda d: 2 * inside * d


def constraint_from(function, y, groups=None, **options):
    """One constraint, and no objective."""
    sums = FunctionOfScores(function, y, groups, **options)
    return Terms(sums, Combination([[0.0], [1.0]], names=[sums.name]))


def callable_terms(n=N, seed=2, function=spread):
    rng = np.random.default_rng(seed)
    return constraint_from(function, rng.integers(0, 2, n), rng.choice(["a", "b"], n))


def ranked(n=N, seed=4):
    rng = np.random.default_rng(seed)
    relevant, member, query = rng.random(n) < 0.4, rng.random(n) < 0.5, rng.integers(0, 3, n)
    return ranking_terms(relevant, member, query, 0.1)


def pairs(n=N, seed=5):
    """A bound on an AUC, and a loss of all pairs."""
    atoms = np.random.default_rng(seed).integers(-1, 2, n)
    shares = np.full(n, 1 / n), [[1.0], [0.0]], [[0.0], [1.0]]
    sums = [PairSums(f, atoms, *shares) for f in (SquaredHingePair(), SigmoidPair())]
    return Terms(sums, Combination([[1.0, 0.0], [0.0, -1.0]], [0.0, 0.1]))


def fixed(n=N, seed=3):
    positive = np.random.default_rng(seed).random(n) < 0.5
    return fixed_predictions(rate_terms(squares=True), positive, 0.1, beside=[1])


EXAMPLES = {
    "rates": (rate_terms, (N,)),
    "truncated": (lambda: rate_terms(loss=TruncatedLogistic()), (N,)),
    "squares": (lambda: rate_terms(squares=True), (N,)),
    "ratio": (lambda: rate_terms(ratio=True), (N,)),
    "correlation": (correlated, (N,)),
    "classes": (class_terms, (N, 4)),
    "sharp classes": (lambda: class_terms().sharpened(2.0), (N, 4)),
    "callable": (callable_terms, (N,)),
    "fixed predictions": (fixed, (N,)),
    "pairs": (pairs, (N,)),
    "pairs of queries": (ranked, (N,)),
    "joined": (lambda: Terms.joined([rate_terms(squares=True), callable_terms()]), (N,)),
}
