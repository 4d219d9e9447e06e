"""Baselines: their parameters are checked in `fit`, as scikit-learn wants it."""

import numpy as np

from equipoise.baselines import CorrelationPenalty, ScorePostProcessing, SurrogateAUC
from equipoise.estimators import AUCClassifier
from tests.inputs.examples.shared import GROUPS, X, Y
from tests.inputs.zoo import also, count, flag, kind, optional, positive, share, strict, told_as

moderate = kind("half")  # within 1e-20 .. 1e20


def penalised(**parameters):
    """Fit a penalised ranking."""
    return CorrelationPenalty(**parameters).fit(X, Y, sensitive_features=GROUPS)


def surrogate(**parameters):
    """Fit the quadratic surrogate."""
    return SurrogateAUC(**parameters).fit(X, Y, sensitive_features=GROUPS)


def transformed(**parameters):
    """Choose a transform."""
    return ScorePostProcessing(**parameters).fit(X, Y, sensitive_features=GROUPS)


FITTED = AUCClassifier(max_steps=3).fit(X, Y)
ROWS = {"X": strict(X), "y": strict(Y), "sensitive_features": strict(GROUPS)}
GRID = optional(also(strict([0.5, 1.0]), "long array"))
EXAMPLES = {
    "CorrelationPenalty": (
        penalised,
        {
            "penalty": moderate(1.0),
            "loss": strict("quadratic"),
            "C": moderate(1.0),
            "solver": strict("auto"),
            "tol": positive(1e-3),
            "max_steps": count(3),
        },
    ),
    "SurrogateAUC": (
        surrogate,
        {
            "kind": strict("inter"),
            "bound": also(strict(0.2), "half", "huge"),
            "c1": told_as(moderate(0.5), "bound"),
            "c2": told_as(moderate(1.0), "bound"),
            "radius": moderate(2.0),
            "solver": strict("proxy_lagrangian"),
            "batch": optional(count(20)),
            "tol": positive(1e-3),
            "max_steps": count(3),
            "snapshots": count(2),
            "random_state": optional(count(0)),
        },
    ),
    "ScorePostProcessing": (
        transformed,
        {
            "estimator": optional(strict(FITTED)),
            "kind": strict("inter"),
            "bound": share(0.5),
            "prefit": flag(False),
            "scales": GRID,
            "shifts": GRID,
        },
    ),
    "CorrelationPenalty.fit": (CorrelationPenalty(max_steps=3).fit, ROWS),
    "SurrogateAUC.fit": (SurrogateAUC(solver="proxy_lagrangian", max_steps=3).fit, ROWS),
    "ScorePostProcessing.fit": (
        ScorePostProcessing(scales=np.ones(1), shifts=np.zeros(1), bound=1.0).fit,
        ROWS,
    ),
    "ScorePostProcessing.decision_function": (
        ScorePostProcessing(bound=1.0).fit(X, Y, sensitive_features=GROUPS).decision_function,
        {"X": strict(X), "sensitive_features": strict(GROUPS)},
    ),
}
