"""Small terms of every kind for the tests."""

import numpy as np
from scipy import sparse

from equipoise.terms import (
    CallableTerms,
    Channel,
    ClassLossTerms,
    Logistic,
    RateTerms,
    Sigmoid,
    StackedTerms,
    TruncatedLogistic,
    pattern_terms,
)

N = 40


def rate_terms(n=N, seed=0, squares=False, loss=None):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(n) < 0.4, 1, -1)
    losses = np.column_stack([np.full(n, 1 / n), rng.random(n) * (rng.random(n) < 0.5)])
    signed = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.4) / n
    channels = [
        Channel(loss or Logistic(), losses, sign),
        Channel(Sigmoid(1.5), sparse.csr_array(signed)),
    ]
    C = rng.normal(size=(4, 5))
    C[0, 0] = 1.0
    extra = (rng.normal(size=(2, 5)) * [0, 0, 1, 1, 1], rng.normal(size=2)) if squares else None
    return RateTerms(channels, C, rng.normal(size=4), squares=extra)


def class_terms(n=N, K=4, seed=1, **options):
    rng = np.random.default_rng(seed)
    labels = np.r_[np.arange(K), rng.integers(0, K, n - K)]
    return ClassLossTerms(
        labels, np.full(K, 0.7), objective=1, sample_weight=rng.random(n) + 0.1, **options
    )


def spread(scores, y, groups):
    """The mean square of the scores of one group, minus 1."""
    inside = (groups == "a") / len(y)
    return float(inside @ scores**2) - 1, 2 * inside * scores, lambda d: 2 * inside * d


def callable_terms(n=N, seed=2, function=spread):
    rng = np.random.default_rng(seed)
    return CallableTerms(function, rng.integers(0, 2, n), rng.choice(["a", "b"], n))


def fixed_predictions(n=N, seed=3):
    positive = np.random.default_rng(seed).random(n) < 0.5
    return pattern_terms(rate_terms(squares=True), positive, 0.1, beside=[1])


EXAMPLES = {
    "rates": (rate_terms, (N,)),
    "truncated": (lambda: rate_terms(loss=TruncatedLogistic()), (N,)),
    "squares": (lambda: rate_terms(squares=True), (N,)),
    "classes": (class_terms, (N, 4)),
    "sharp classes": (lambda: class_terms().with_(sharpness=2.0), (N, 4)),
    "callable": (callable_terms, (N,)),
    "pattern": (fixed_predictions, (N,)),
    "stacked": (lambda: StackedTerms([rate_terms(squares=True), callable_terms()]), (N,)),
}
