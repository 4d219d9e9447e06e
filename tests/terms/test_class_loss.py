"""Class losses against the triple loop of their definition."""

import numpy as np
import pytest

from equipoise.terms import class_loss_terms

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
