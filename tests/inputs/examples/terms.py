"""Sums of functions of scores, and what is made of them."""

import numpy as np
import torch

from equipoise import terms
from equipoise.terms import Combination, Logistic, PairLoss, SigmoidPair, SquaredGaps
from tests.inputs.examples.shared import LOSS, TERMS, Y
from tests.inputs.zoo import (
    also,
    count,
    flag,
    function,
    non_negative,
    optional,
    positive,
    real,
    share,
    strict,
    text,
    told_as,
)

WEIGHTS = np.full((40, 1), 1 / 40)
some_names = optional(strict(("one",)))

# Of two that do not fit together, a message names the second.
ARGUMENTS = {
    "Logistic": {},
    "Hinge": {},
    "Identity": {},
    "TruncatedLogistic": {"alpha": positive(2.0)},
    "SmoothedHinge": {"width": positive(0.1)},
    "Squared": {"scale": positive(1.0), "target": real(1.0)},
    "Sigmoid": {"sharpness": positive(1.0)},
    "PairLoss": {"sharpness": positive(1.0)},
    "loss_of": {"owner": text("me"), "loss": strict("hinge")},
    "Rates": {
        "function": strict(Logistic()),
        "weights": told_as(strict(WEIGHTS), "matrix"),
        "sign": optional(strict(2 * Y - 1)),
    },
    "RowWeights": {"matrix": strict(WEIGHTS)},
    "DeviceWeights": {
        "parts": strict(torch.tensor(np.asarray(WEIGHTS).T.copy())),
        "totals": strict(np.ones(np.shape(WEIGHTS)[1])),
    },
    "ClassLosses": {
        "labels": told_as(strict(Y), "sample_weight"),
        "n_classes": count(2),
        "sample_weight": optional(strict(np.ones(40))),
        "loss": optional(strict(PairLoss())),
        "totals": optional(strict(np.array([20.0, 20.0]))),
    },
    "FunctionOfScores": {
        "function": function(lambda s, y, groups: (0.0, s)),
        "y": told_as(strict(Y), "groups"),
        "groups": optional(strict(Y)),
        "name": optional(text("mine")),
        "smooth": flag(True),
        "order": optional(strict(np.arange(40)[::-1])),
    },
    "PairSums": {
        "function": strict(SigmoidPair()),
        "atoms": told_as(strict(Y), "weight"),
        "weight": strict(np.full(40, 0.05)),
        "above": told_as(strict([[1.0], [0.0]]), "below"),
        "below": strict([[0.0], [1.0]]),
    },
    "ListedPairs": {
        "sums": told_as(strict(LOSS), "above"),
        "above": strict(np.zeros(40, int)),
        "below": strict(np.arange(40)),
        "n_rows": told_as(count(40), "below"),  # too few for the pairs
    },
    "ranking_terms": {
        "relevant": strict(Y == 1),
        "member": strict(np.arange(40) % 3 == 0),
        "query": told_as(strict(np.arange(40) % 2), "relevant"),
        "slack": share(0.1),
        "loss": optional(strict(Logistic())),
        "surrogate": optional(strict(Logistic())),
    },
    "SigmoidPair": {"sharpness": positive(1.0)},
    "LogisticPair": {},
    "SquaredHingePair": {"margin": positive(1.0)},
    "QuadraticPair": {"c1": positive(0.5), "c2": positive(1.0)},
    "JoinedSums": {"parts": strict([LOSS, LOSS])},
    "SquaredGaps": {"Q": strict(np.eye(2)), "q": strict(np.zeros(2))},
    "Ratio": {
        "numerator": strict(([1.0, 0.0], 0.0)),
        "denominator": strict(([0.0, 1.0], 0.0)),
        "otherwise": real(0.0),
    },
    "Correlation": {"variance": non_negative(0.25), "factor": real(1.0)},
    "Combination": {
        "coefficients": strict(np.eye(2)),
        "offsets": optional(strict(np.zeros(2))),
        "names": some_names,
        "bent": also(
            strict([(1, SquaredGaps(np.eye(2), np.zeros(2)))]), "empty list", "empty array"
        ),
    },
    "Terms": {"sums": strict(LOSS), "combination": strict(Combination([[1.0]]))},
    "class_loss_terms": {
        "labels": told_as(strict(Y), "sample_weight"),
        "bounds": told_as(strict([0.5, 0.5]), "names"),
        "objective": count(0),
        "sample_weight": optional(strict(np.ones(40))),
        "loss": optional(strict(PairLoss())),
        "names": optional(also(strict(("no", "yes")), "list of text")),
    },
    "class_loss_combination": {
        "bounds": told_as(strict(np.array([0.5, 0.5])), "names"),
        "objective": count(0),
        "names": optional(also(strict(("no", "yes")), "list of text")),
    },
    "fixed_predictions": {
        "terms": strict(TERMS),
        "positive": strict(Y == 1),
        "margin": non_negative(0.1),
        "beside": also(strict(()), "empty list", "empty array"),
    },
}
EXAMPLES = {f"terms.{name}": (getattr(terms, name), given) for name, given in ARGUMENTS.items()}
