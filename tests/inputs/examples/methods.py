"""Methods that users call on what they have made or were given: fitted models, reports, problems, tables."""

import numpy as np

from equipoise import (
    FunctionProblem,
    NeymanPearsonClassifier,
    auc_parity,
)
from equipoise.baselines import CorrelationPenalty, SurrogateAUC
from equipoise.estimators import AUCClassifier
from equipoise.problems import LearningProblem
from equipoise.terms import Combination, Terms
from equipoise.torch import ConstrainedNetClassifier
from tests.inputs.examples.estimators import weights
from tests.inputs.examples.shared import GROUPS, LOSS, MODEL, PARITY, PROBLEM, X, Y
from tests.inputs.zoo import also, optional, positive, real, share, strict, text

FITTED = {
    "AUCClassifier": AUCClassifier(
        auc_parity("inter", 0.5), max_steps=3, on_infeasible="ignore"
    ).fit(X, Y, sensitive_features=GROUPS),
    "NeymanPearsonClassifier": NeymanPearsonClassifier(0.6, tol=1e-3).fit(X, Y),
    "torch.ConstrainedNetClassifier": ConstrainedNetClassifier(
        PARITY, max_epochs=1, max_steps=3, on_infeasible="ignore"
    ).fit(X, Y, sensitive_features=GROUPS),
}
PENALISED = CorrelationPenalty(max_steps=3).fit(X, Y, sensitive_features=GROUPS)
SURROGATE = SurrogateAUC(solver="proxy_lagrangian", max_steps=3).fit(
    X, Y, sensitive_features=GROUPS
)
LEARNING = LearningProblem.of(MODEL, Terms(LOSS, Combination([[1.0], [1.0]])))

EXAMPLES = {}
for name, model in FITTED.items():
    EXAMPLES |= {
        f"{name}.{method}": (getattr(model, method), {"X": strict(X)})
        for method in ("predict", "predict_proba", "decision_function")
    } | {
        f"{name}.score": (
            model.score,
            {"X": strict(X), "y": strict(Y), "sample_weight": optional(strict(np.ones(40)))},
        ),
        f"{name}.save": (model.save, {"path": text("a.model")}),
    }
    if not name.startswith("torch"):
        EXAMPLES[f"{name}.to_onnx"] = (model.to_onnx, {"path": text("a.onnx")})
    groups = optional(strict(GROUPS)) if name.startswith("Neyman") else strict(GROUPS)
    EXAMPLES[f"{name}.evaluate"] = (
        model.evaluate,
        {
            "X": strict(X),
            "y": strict(Y),
            "sensitive_features": groups,
            "confidence": share(0.9),
            "sample_weight": weights,
        },
    )
EXAMPLES |= {
    "CorrelationPenalty.decision_function": (PENALISED.decision_function, {"X": strict(X)}),
    "SurrogateAUC.decision_function": (SURROGATE.decision_function, {"X": strict(X)}),
    "problems.FunctionProblem.at": (
        FunctionProblem(lambda x: (float(x @ x), 2 * x), dim=2).at,
        {"x": also(strict(np.zeros(2)), "array with NaN")},  # which `solve` watches for
    ),
    "problems.QuadraticProblem.at": (
        PROBLEM.at,
        {"x": also(strict(np.zeros(2)), "array with NaN")},
    ),
    "problems.LearningProblem.at": (LEARNING.at, {"x": strict(np.zeros(3))}),
    "problems.LearningProblem.thresholded": (LEARNING.thresholded, {"x": strict(np.zeros(3))}),
    "problems.LearningProblem.sharpened": (LEARNING.sharpened, {"sharpness": positive(2.0)}),
    "problems.LearningProblem.shifted": (LEARNING.shifted, {"shift": real(0.1)}),
}
