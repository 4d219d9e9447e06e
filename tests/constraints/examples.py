"""One example of every constraint, and data to bind it to."""

import numpy as np

from equipoise.constraints import CONSTRAINTS, Each

N = 120


def data(n=N, seed=0):
    """Labels, one column of groups, and scores; every group has both labels."""
    rng = np.random.default_rng(seed)
    groups = np.array(["F", "M", "X"])[
        np.r_[np.repeat(np.arange(3), 4), rng.integers(0, 3, n - 12)]
    ]
    y = np.r_[np.tile([0, 0, 1, 1], 3), rng.integers(0, 2, n - 12)]
    return y, groups, rng.normal(size=n) * 2


def mean_score(scores, y, groups):
    return float(scores.mean()), np.full_like(scores, 1 / len(scores))


def reference():
    return np.random.default_rng(9).integers(0, 2, N)


EXAMPLES = {
    "demographic_parity": lambda f: f(0.02),
    "equal_opportunity": lambda f: f(0.05, "mean"),
    "equalized_odds": lambda f: f(0.05),
    "false_positive_parity": lambda f: f(0.1, "overall"),
    "false_negative_parity": lambda f: f(0.1, groups=("F", "M")),
    "auc_parity": lambda f: f("inter", 0.05),
    "bounded_group_loss": lambda f: f(0.6),
    "group_loss": lambda f: f(0.1, loss="hinge"),
    "coverage": lambda f: f(at_least=0.3),
    "recall": lambda f: f(at_least=0.9, group=Each()),
    "precision": lambda f: f(at_least=0.7),
    "f_score": lambda f: f(at_least=0.6, group=Each()),
    "false_positive_rate": lambda f: f(at_most=0.1),
    "false_negative_rate": lambda f: f(at_most=0.1, group="F"),
    "error_rate": lambda f: f(at_most=0.3),
    "churn": lambda f: f(at_most=0.05, reference=reference()),
    "minority_coverage": lambda f: f(0.2, "F"),
    "parity_pair": lambda f: f(1.1, groups=("F", "M")),
    "loss_budget": lambda f: f(0.01),
    "custom": lambda f: f(mean_score),
}


def example(name):
    return EXAMPLES[name](CONSTRAINTS[name])
