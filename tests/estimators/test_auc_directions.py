"""AUCs of two features: no direction in the plane that keeps the bound has a clearly larger one."""

import numpy as np
import pytest
from scipy.stats import rankdata

from equipoise import AUCClassifier, auc_parity
from equipoise._status import Status

BOUND = 0.01
ANGLES = np.linspace(0.0, 2.0 * np.pi, 721)


def rows(seed, n, label_shift, feature_shift, noise):
    """Two groups, whose labels and whose second feature differ."""
    rng = np.random.default_rng(seed)
    X, group = rng.standard_normal((n, 2)), (rng.random(n) < 0.4).astype(int)
    X[:, 1] += feature_shift * group
    y = X[:, 0] + label_shift * group + noise * rng.standard_normal(n) > 0
    return X, y, group


def area(above, below):
    """Return the AUC of two sets of scores, by ranks."""
    ranks, n = rankdata(np.concatenate((above, below))), above.size
    return (ranks[:n].sum() - n * (n + 1) / 2) / (n * below.size)


def gap(kind, s, y, group):
    P, N = [s[y & (group == k)] for k in (0, 1)], [s[~y & (group == k)] for k in (0, 1)]
    pairs = {"inter": ((0, 1), (1, 0)), "intra": ((0, 0), (1, 1))}[kind]
    first, second = (area(P[i], N[j]) for i, j in pairs)
    return abs(first - second)


def best_direction(kind, X, y, group):
    scores = [X @ (np.cos(angle), np.sin(angle)) for angle in ANGLES]
    return max(area(s[y], s[~y]) for s in scores if gap(kind, s, y, group) <= BOUND)


@pytest.mark.parametrize(
    ("kind", "seed", "drawn"),
    [
        ("inter", 3, (300, 1.0, 0.0, 3.0)),
        ("intra", 5, (1500, -1.0, 2.0, 1.0)),
        ("intra", 8, (1500, 1.0, 2.0, 0.3)),
        ("inter", 9, (4000, 1.0, 0.0, 1.0)),
    ],
)
def test_the_best_direction_is_found_however_far_it_is_from_the_free_one(kind, seed, drawn):
    X, y, group = rows(seed, *drawn)
    model = AUCClassifier(auc_parity(kind, BOUND)).fit(X, y, group)
    s = model.decision_function(X)
    assert model.status_ is Status.CONVERGED
    assert gap(kind, s, y, group) <= BOUND + 1e-12
    assert area(s[y], s[~y]) > best_direction(kind, X, y, group) - 0.003
