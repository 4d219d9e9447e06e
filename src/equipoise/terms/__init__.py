"""Functions of model scores: pointwise losses, rates over subgroups, and what is made of them."""

from equipoise.terms.callable import CallableTerms
from equipoise.terms.channel import Channel
from equipoise.terms.class_loss import ClassLossTerms
from equipoise.terms.losses import LOSSES, Hinge, Logistic, Squared, TruncatedLogistic
from equipoise.terms.pattern import Identity, flip_effects, pattern_terms
from equipoise.terms.pointwise import Kink, Pointwise
from equipoise.terms.rates import RateTerms
from equipoise.terms.row_weights import RowWeights
from equipoise.terms.scores import Scores
from equipoise.terms.sigmoid import PairLoss, Sigmoid
from equipoise.terms.smoothed_hinge import SmoothedHinge
from equipoise.terms.stacked import StackedTerms
from equipoise.terms.terms import Terms, TermsBounds, TermsPoint

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
    "Terms",
    "TermsPoint",
    "TermsBounds",
    "RateTerms",
    "pattern_terms",
    "flip_effects",
    "Channel",
    "RowWeights",
    "ClassLossTerms",
    "CallableTerms",
    "StackedTerms",
]
