"""Other ways to a fair ranking, to compare with; each is an object with `fit` and `decision_function`."""

from equipoise.baselines._correlation_penalty import CorrelationPenalty
from equipoise.baselines._post_processing import ScorePostProcessing
from equipoise.baselines._surrogate_auc import SurrogateAUC

__all__ = ["CorrelationPenalty", "ScorePostProcessing", "SurrogateAUC"]
