"""Fits under stricter bounds, so that the bounds asked for hold on more than the rows fitted to."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from equipoise.constraints import Binding
from equipoise.estimators._counted import Candidate, Unconstrained
from equipoise.estimators._promised import Promise
from equipoise.estimators._training import Training
from equipoise.problems import LearningProblem


class StricterFit(Protocol):
    """A way to find a model, such as `Walk`, which tightens bounds until what is left can be promised."""

    def fit(
        self,
        training: Training,
        binding: Binding,
        problem: LearningProblem,
        unconstrained: Unconstrained,
    ) -> tuple[Candidate, Any, int]:
        """Return the model, what its test says where there is one, and how many models were tried."""
        ...

    def promise(self, tested: Any, training: np.ndarray, models: int, /) -> Promise | None:
        """Return what may be promised; None where nothing is."""
        ...
