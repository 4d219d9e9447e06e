"""Equipoise: train models under hard constraints, and prove where the training stopped."""

from __future__ import annotations

import importlib
from typing import Any

from equipoise import sets, solvers
from equipoise._problem import Facts, Point, Problem
from equipoise._status import Status
from equipoise.certificate import Certificate, certify, near_stationarity
from equipoise.constraints import (
    Subset,
    auc,
    auc_parity,
    bounded_group_loss,
    churn,
    coverage,
    custom,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    error_rate,
    f_score,
    false_negative_parity,
    false_negative_rate,
    false_positive_parity,
    false_positive_rate,
    group_loss,
    loss_budget,
    minority_coverage,
    pair_loss,
    parity_pair,
    precision,
    rate,
    recall,
    unfairness,
)
from equipoise.problems import FunctionProblem, check_problem
from equipoise.run import Budget, Checkpoint, Result, solve

__version__ = "0.1.0"

_LAZY = {  # scikit-learn is loaded only when an estimator is asked for
    "ConstrainedClassifier": "equipoise.estimators",
    "NeymanPearsonClassifier": "equipoise.estimators",
    "AUCClassifier": "equipoise.estimators",
    "frontier": "equipoise.estimators",
    "load_model": "equipoise.estimators",
    "audit": "equipoise.auditing",
    "auditing": "equipoise",
    "fit_until_audited": "equipoise.estimators",
    "estimators": "equipoise",
    "metrics": "equipoise",
    "baselines": "equipoise",
    "datasets": "equipoise",
    "torch": "equipoise",  # not in __all__: `import *` must not hide PyTorch itself
}


def __getattr__(name: str) -> Any:
    """Import estimators and data sets on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module 'equipoise' has no attribute {name!r}")
    if _LAZY[name] == "equipoise":
        return importlib.import_module(f"equipoise.{name}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "ConstrainedClassifier",
    "NeymanPearsonClassifier",
    "AUCClassifier",
    "load_model",
    "frontier",
    "audit",
    "fit_until_audited",
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "false_positive_parity",
    "false_negative_parity",
    "auc_parity",
    "coverage",
    "recall",
    "precision",
    "f_score",
    "churn",
    "error_rate",
    "false_positive_rate",
    "false_negative_rate",
    "group_loss",
    "bounded_group_loss",
    "minority_coverage",
    "parity_pair",
    "loss_budget",
    "unfairness",
    "rate",
    "auc",
    "pair_loss",
    "Subset",
    "custom",
    "solve",
    "certify",
    "near_stationarity",
    "check_problem",
    "Problem",
    "Point",
    "FunctionProblem",
    "Facts",
    "Result",
    "Certificate",
    "Status",
    "Checkpoint",
    "Budget",
    "sets",
    "solvers",
    "datasets",
    "estimators",
    "auditing",
    "metrics",
    "baselines",
]
