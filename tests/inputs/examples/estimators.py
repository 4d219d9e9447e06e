"""Estimators: their parameters are checked in `fit`, as scikit-learn wants it."""

from tempfile import TemporaryDirectory

import numpy as np

from equipoise import (
    AUCClassifier,
    ConstrainedClassifier,
    NeymanPearsonClassifier,
    auc_parity,
    demographic_parity,
    fit_until_audited,
    frontier,
    load_model,
    rate,
)
from tests.inputs.examples.shared import GROUPS, PARITY, X, Y
from tests.inputs.zoo import (
    also,
    count,
    flag,
    function,
    kind,
    non_negative,
    optional,
    positive,
    share,
    strict,
    text,
    told_as,
)

moderate = kind("half")  # C: within 1e-20 .. 1e20
weights = optional(strict(np.ones(40)))
weights = also(weights, "half")  # the same for all rows
shared = {
    "C": moderate(1.0),
    "on_infeasible": strict("ignore"),
    "solver": strict("auto"),
    "tol": positive(1e-3),
    "max_steps": count(3),
    "max_seconds": optional(non_negative(10.0)),
    "verbose": flag(False),
    "callback": optional(function(lambda iteration: None)),
    "warm_start": flag(False),
    "random_state": optional(count(0)),
    "confidence": optional(share(None)),
    "held_out": share(0.5),
    "ordered": flag(False),
}
streamed = {"memory": count(50)}


def constrained(**parameters):
    """Fit a constrained classifier."""
    return ConstrainedClassifier(**parameters).fit(X, Y, sensitive_features=GROUPS)


def ranking(**parameters):
    """Fit a classifier that ranks."""
    return AUCClassifier(**parameters).fit(X, Y, sensitive_features=GROUPS)


def bounded(**parameters):
    """Fit a Neyman-Pearson classifier."""
    return NeymanPearsonClassifier(**parameters).fit(X, Y)


PROMISING = ConstrainedClassifier(
    demographic_parity(0.9), max_steps=3, on_infeasible="ignore", confidence=0.5
)
QUICK = ConstrainedClassifier(PARITY, max_steps=3, on_infeasible="ignore")
FREE = ConstrainedClassifier(max_steps=3, on_infeasible="ignore")
RANKING = AUCClassifier(auc_parity("inter", 0.5), max_steps=3, on_infeasible="ignore")
FITTED = ConstrainedClassifier(PARITY, max_steps=3, on_infeasible="ignore").fit(X, Y, GROUPS)
FOLDER = TemporaryDirectory()
SAVED = f"{FOLDER.name}/a.model"
FITTED.save(SAVED)


def started(X, y, classes, sensitive_features, sample_weight):
    """Begin a stream."""
    ConstrainedClassifier(PARITY).partial_fit(X, y, classes, sensitive_features, sample_weight)


def ranked(X, y, classes, sensitive_features, sample_weight):
    """Begin a stream of a classifier that ranks."""
    model = AUCClassifier(auc_parity("inter", 0.5))
    model.partial_fit(X, y, classes, sensitive_features, sample_weight)


EXAMPLES = {
    "ConstrainedClassifier": (
        constrained,
        {
            "constraints": also(strict(PARITY), "empty list", "empty array"),
            "objective": optional(strict(rate("loss"))),
            "loss": strict("logistic"),
            "fit_intercept": flag(True),
            "pos_label": optional(strict(0)),
            "class_weight": optional(strict("balanced")),
            "true_metric": flag(True),
            "min_cell": count(2),
            "small_cells": strict("skip"),
            "margin": optional(strict(None)),
            "scoring": optional(
                also(strict("accuracy"), "function", "class")
            ),  # scorers are called
            **shared,
            **streamed,
        },
    ),
    "AUCClassifier": (
        ranking,
        {
            "constraints": also(strict(auc_parity("inter", 0.5)), "empty list", "empty array"),
            "loss": strict("logistic"),
            "pos_label": optional(strict(0)),
            "true_metric": flag(True),
            "min_cell": count(2),
            "small_cells": strict("skip"),
            **shared,
            **streamed,
        },
    ),
    "NeymanPearsonClassifier": (
        bounded,
        {
            "bounds": share(0.3),
            "minimise": optional(strict(1)),
            "radius": optional(positive(1.0)),
            **shared,
        },
    ),
    "frontier": (
        frontier,
        {
            "estimator": strict(QUICK),
            "X": strict(X),
            "y": strict(Y),
            "bounds": told_as(also(strict([0.2, 0.4]), "half", "long array"), "bound"),
            "sensitive_features": strict(GROUPS),
            "sample_weight": weights,
            "rule": optional(strict(demographic_parity)),
            "splits": count(0),
            "test_size": share(0.25),
            "n_jobs": optional(also(strict(1), "negative")),  # -1: all processors
            "checkpoint": optional(text(None)),
            "progress": flag(False),
        },
    ),
    "fit_until_audited": (
        fit_until_audited,
        {
            "estimator": strict(FREE),
            "X": strict(X),
            "y": strict(Y),
            "sensitive_features": strict(GROUPS),
            "rule": strict(demographic_parity(0.5)),
            "depth": count(1),
            "min_rows": count(5),
            "confidence": share(0.9),
            "max_rounds": count(1),
        },
    ),
    "ConstrainedClassifier.fit": (
        PROMISING.fit,
        {
            "X": strict(X),
            "y": strict(Y),
            "sensitive_features": strict(GROUPS),
            "sample_weight": weights,
            "groups": optional(strict(np.arange(40))),
        },
    ),
    "AUCClassifier.fit": (
        RANKING.fit,
        {
            "X": strict(X),
            "y": strict(Y),
            "sensitive_features": strict(GROUPS),
            "sample_weight": weights,
            "groups": optional(strict(None)),
        },
    ),
    "ConstrainedClassifier.partial_fit": (
        started,
        {
            "X": strict(X),
            "y": strict(Y),
            "classes": strict([0, 1]),
            "sensitive_features": strict(GROUPS),
            "sample_weight": weights,
        },
    ),
    "AUCClassifier.partial_fit": (
        ranked,
        {
            "X": strict(X),
            "y": strict(Y),
            "classes": strict([0, 1]),
            "sensitive_features": strict(GROUPS),
            "sample_weight": weights,
        },
    ),
    "NeymanPearsonClassifier.fit": (
        NeymanPearsonClassifier(0.6, tol=1e-3).fit,
        {
            "X": strict(X),
            "y": strict(Y),
            "sample_weight": weights,
            "groups": optional(strict(None)),
        },
    ),
    "ConstrainedClassifier.evaluate": (
        FITTED.evaluate,
        {
            "X": strict(X),
            "y": strict(Y),
            "sensitive_features": strict(GROUPS),
            "confidence": share(0.9),
            "sample_weight": weights,
        },
    ),
    "ConstrainedClassifier.predict": (FITTED.predict, {"X": strict(X)}),
    "ConstrainedClassifier.predict_proba": (FITTED.predict_proba, {"X": strict(X)}),
    "ConstrainedClassifier.decision_function": (FITTED.decision_function, {"X": strict(X)}),
    "ConstrainedClassifier.save": (FITTED.save, {"path": text("a.model")}),
    "ConstrainedClassifier.to_onnx": (FITTED.to_onnx, {"path": text("a.onnx")}),
    "load_model": (load_model, {"path": strict(SAVED), "module": optional(strict(None))}),
    "ConstrainedClassifier.score": (
        FITTED.score,
        {"X": strict(X), "y": strict(Y), "sample_weight": optional(strict(np.ones(40)))},
    ),
}
