"""What the examples share: a problem, some rows, a result."""

import numpy as np

from equipoise import Facts, sets
from equipoise.constraints import demographic_parity
from equipoise.models import LinearModel
from equipoise.problems import QuadraticProblem
from equipoise.rows import MemoryTable
from equipoise.terms import Combination, Logistic, Rates, Terms

PROBLEM = QuadraticProblem(
    np.stack([np.eye(2), np.zeros((2, 2))]),
    [[-1.0, 0.0], [1.0, 1.0]],
    [0.0, -1.0],
    sets.Box(-2, 2, dim=2),
)
X = np.random.default_rng(0).normal(size=(40, 2))
Y = (np.arange(40) % 4 < 2).astype(int)
GROUPS = np.where(np.arange(40) % 2, "f", "m")
LOSS = Rates(Logistic(), np.full((40, 1), 1 / 40), sign=2 * Y - 1)
TERMS = Terms(LOSS, Combination([[1.0]]))
MODEL = LinearModel(X)
TABLE = MemoryTable(Y, X, GROUPS)
PARITY = demographic_parity(0.2)
FACTS = Facts(smooth=True)


def half_square(x):
    """``|x|^2 / 2`` and its gradient."""
    return 0.5 * float(x @ x), x
