"""Functions of model scores: sums over rows, and what objective and constraints make of them."""

from equipoise.terms._class_losses import (
    ClassLosses,
    class_loss_combination,
    class_loss_terms,
)
from equipoise.terms._combination import Combination
from equipoise.terms._combination_point import CombinationPoint, FunctionBounds
from equipoise.terms._correlation import Correlation
from equipoise.terms._device_weights import DeviceWeights
from equipoise.terms._fixed_predictions import Identity, fixed_predictions
from equipoise.terms._function_of_scores import FunctionOfScores
from equipoise.terms._functionals import Functional, Ratio, SquaredGaps
from equipoise.terms._joined_sums import JoinedSums
from equipoise.terms._kinks import RowKinks
from equipoise.terms._listed_pairs import ListedPairs
from equipoise.terms._losses import LOSSES, Hinge, Logistic, Squared, TruncatedLogistic, loss_of
from equipoise.terms._pair_functions import (
    PAIR_LOSSES,
    LogisticPair,
    PairFunction,
    QuadraticPair,
    SigmoidPair,
    SquaredHingePair,
)
from equipoise.terms._pair_sums import PairSums
from equipoise.terms._pointwise import Kink, Pointwise
from equipoise.terms._ranking import ranking_terms
from equipoise.terms._rates import Rates
from equipoise.terms._row_weights import RowWeights
from equipoise.terms._score_sum import ScoreSum, ScoreSumPoint, SumBounds
from equipoise.terms._scores import Scores
from equipoise.terms._sigmoid import PairLoss, Sigmoid
from equipoise.terms._smoothed_hinge import SmoothedHinge
from equipoise.terms._terms import Terms, TermsPoint

__all__ = [
    "Scores",
    "Pointwise",
    "Kink",
    "Logistic",
    "TruncatedLogistic",
    "Hinge",
    "SmoothedHinge",
    "Squared",
    "Sigmoid",
    "PairLoss",
    "Identity",
    "LOSSES",
    "loss_of",
    "ScoreSum",
    "ScoreSumPoint",
    "SumBounds",
    "RowKinks",
    "Rates",
    "RowWeights",
    "DeviceWeights",
    "PairSums",
    "ListedPairs",
    "PairFunction",
    "SigmoidPair",
    "LogisticPair",
    "SquaredHingePair",
    "QuadraticPair",
    "PAIR_LOSSES",
    "ClassLosses",
    "FunctionOfScores",
    "JoinedSums",
    "Functional",
    "SquaredGaps",
    "Ratio",
    "Correlation",
    "Combination",
    "CombinationPoint",
    "FunctionBounds",
    "Terms",
    "TermsPoint",
    "class_loss_terms",
    "ranking_terms",
    "class_loss_combination",
    "fixed_predictions",
]
