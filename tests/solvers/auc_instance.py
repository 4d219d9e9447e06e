"""A random AUC problem under group-AUC fairness, whose solution is known."""

import numpy as np

from equipoise.models import LinearModel
from equipoise.problems import AUCFairness
from equipoise.sets import L2Ball


def rows():
    """200 rows: features, labels and groups of -1 and 1."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 3))
    group = np.where(rng.random(200) < 0.4, 1, -1)
    label = np.where(X @ [1, -0.5, 0.3] + 0.6 * group + rng.normal(size=200) > 0, 1, -1)
    X[:, 2] += 0.5 * group
    return X, label, group


def instance(kind="group", **options):
    """The problem; its optimal value is 0.365883."""
    X, label, group = rows()
    options = {"kappa": 0.05, "domain": L2Ball(2.0), **options}
    model = LinearModel(X, intercept=False)
    return AUCFairness(model, label, group, kind=kind, **options)


def level_function(problem, r, w):
    """P(r, w)."""
    values = problem.at(w).values.copy()
    values[0] -= r
    return values.max()
