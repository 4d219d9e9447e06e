"""Class losses against the triple loop of their definition."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from equipoise.models import Features, MultiClassLinearModel
from equipoise.problems import LearningProblem
from equipoise.terms import ClassLosses, PairLoss, Pointwise, Scores, class_loss_terms

from .examples import N, class_terms


def triple_loop(terms, s, weight, phi, dphi):
    """Values and the gradient of each class's loss, class by class, row by row, pair by pair."""
    K = terms.sums.size
    losses, gradients = np.zeros(K), np.zeros((K, *s.shape))
    for k in range(K):
        rows = [i for i in range(len(s)) if terms.sums.labels[i] == k]
        total = sum(weight[i] for i in rows)
        for i in rows:
            for other in range(K):
                if other == k:
                    continue
                z = s[i, k] - s[i, other]
                losses[k] += weight[i] / total * phi(z)
                gradients[k, i, k] += weight[i] / total * dphi(z)
                gradients[k, i, other] -= weight[i] / total * dphi(z)
    return losses, gradients


def test_triple_loop(rng):
    weight, labels = rng.random(N) + 0.1, rng.integers(0, 4, N)
    r = np.array([0.3, 0.5, 0.7, 0.9])
    terms = class_loss_terms(labels, r, objective=2, sample_weight=weight)
    s = rng.normal(size=(N, 4))
    losses, gradients = triple_loop(
        terms,
        s,
        weight,
        lambda z: 1 / (1 + np.exp(z)),
        lambda z: -np.exp(z) / (1 + np.exp(z)) ** 2,
    )
    order = [2, 0, 1, 3]
    point = terms.at(s)
    np.testing.assert_allclose(point.values, losses[order] - [0, 0.3, 0.5, 0.9], rtol=1e-12)
    for i, k in enumerate(order):
        np.testing.assert_allclose(point.slope(np.eye(4)[i]), gradients[k], rtol=1e-12, atol=1e-16)
    pairs, _ = triple_loop(terms, s, weight, lambda z: float(z <= 0), lambda z: 0.0)
    np.testing.assert_allclose(terms.thresholded(s), pairs[order] - [0, 0.3, 0.5, 0.9], rtol=1e-12)


def test_gradients_of_tiny_losses_keep_their_digits():
    """The slope of a class beside itself, 1/4, is not added and taken away again."""
    point = ClassLosses([0, 1, 2], 3).at(Scores(40.0 * np.eye(3)))
    slope = np.exp(-40.0)
    expected = np.array([[-2.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]) * slope
    np.testing.assert_allclose(point.slope(np.array([1.0, 0.0, 0.0])), expected, rtol=1e-12)
    np.testing.assert_allclose(
        point.push(np.array([[1.0, 0.0, 0.0]] * 3)), [-2 * slope, slope, slope], rtol=1e-12
    )


class Counted(Pointwise):
    """The pair loss, with its evaluations counted."""

    range, lipschitz, curvatures = PairLoss.range, PairLoss().lipschitz, PairLoss().curvatures

    def __init__(self):
        self.asked = Counter()

    def value(self, z):
        self.asked["value"] += 1
        return PairLoss().value(z)

    def slope(self, z):
        self.asked["slope"] += 1
        return PairLoss().slope(z)

    def curvature(self, z):
        self.asked["curvature"] += 1
        return PairLoss().curvature(z)


def test_a_point_evaluates_the_loss_once(rng, monkeypatch):
    """However many gradients and products are taken there, and without a new sparse matrix for any."""
    loss = Counted()
    losses = ClassLosses(rng.integers(0, 4, N), 4, loss=loss)
    point = losses.at(Scores(rng.normal(size=(N, 4))))
    assert loss.asked == {"value": 1}
    for kind in (sparse.csr_array, sparse.csc_array):
        monkeypatch.setattr(kind, "transpose", None)
    for u, d in zip(np.eye(4), rng.normal(size=(4, N, 4))):
        point.slope(u)
        point.push(d)
        point.curve(u, d)
    assert loss.asked == {"value": 1, "slope": 1, "curvature": 1}


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [False, True])
def test_all_gradients_read_every_row_once(rng, monkeypatch, kind, dtype, intercept):
    """The loss of a class depends on the rows of that class alone."""
    A = kind(rng.normal(size=(N, 3)).astype(dtype))
    center = None if sparse.issparse(A) else rng.normal(size=3)
    model = MultiClassLinearModel(A, 4, intercept, scale=rng.uniform(1, 2, 3), center=center)
    terms = class_loss_terms(
        rng.permutation(N) % 4, np.ones(4), objective=1, sample_weight=rng.random(N)
    )
    point = LearningProblem.of(model, terms, l2=0.1).at(rng.normal(size=model.dim))
    expected = [point.gradient(i) for i in range(4)]
    read, transposed = [], Features.transposed

    def watched(self, G, *more):
        read.append(len(G))
        return transposed(self, G, *more)

    monkeypatch.setattr(Features, "transposed", watched)
    tol = {"rtol": 1e-10, "atol": 1e-14} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-6}
    np.testing.assert_allclose(point.gradients(np.arange(4)), expected, **tol)
    assert sum(read) == N


@pytest.mark.parametrize("order", ["C", "F"])
def test_scores_may_lie_by_classes(rng, order):
    losses = ClassLosses(rng.integers(0, 4, N), 4)
    s, d, u = rng.normal(size=(N, 4)), rng.normal(size=(N, 4)), rng.normal(size=4)
    expected, point = losses.at(Scores(s)), losses.at(Scores(np.array(s, order=order)))
    d_there = np.array(d, order=order)
    np.testing.assert_allclose(point.values, expected.values, rtol=1e-13)
    np.testing.assert_allclose(point.slope(u), expected.slope(u), rtol=1e-13)
    np.testing.assert_allclose(point.push(d_there), expected.push(d), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(point.curve(u, d_there), expected.curve(u, d), rtol=1e-13)


@pytest.mark.parametrize("K", [2, 7, 10])
def test_at_zero_every_loss_is_half_of_the_other_classes(K):
    terms = class_loss_terms(np.arange(3 * K) % K, np.full(K, (K - 1) / 2))
    np.testing.assert_allclose(
        terms.at(np.zeros((3 * K, K))).values, np.r_[(K - 1) / 2, np.zeros(K - 1)], atol=1e-14
    )


def test_names_and_order():
    terms = class_loss_terms([0, 1, 2], [1, 1, 1], objective=1, names=["cat", "dog", "owl"])
    assert terms.names == ("loss of cat", "loss of owl")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: class_loss_terms([0, 1], [1]), "`bounds` must hold one number for each class"),
        (
            lambda: class_loss_terms([0, 2], [1, 1]),
            r"`labels` must be a vector of integers from 0 to 1",
        ),
        (lambda: class_loss_terms([0.0, 1.0], [1, 1]), "`labels` must be a vector of integers"),
        (lambda: class_loss_terms([0, 0], [1, 1]), r"classes \[1\] have none"),
        (lambda: class_loss_terms([0, 1], [1, 1], objective=2), "`objective` must be a class"),
        (lambda: class_loss_terms([0, 1], [1, np.nan]), "`bounds` must be finite"),
        (lambda: class_loss_terms([0, 1], [1, 1], sample_weight=[1, -1]), "positive weight"),
        (lambda: class_loss_terms([0, 1], [1, 1], names=["a"]), "`names` must have 2 entries"),
        (
            lambda: class_terms().at(np.zeros((N, 3))),
            r"`scores` must have shape \(40, 4\), got \(40, 3\)",
        ),
    ],
)
def test_wrong_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
