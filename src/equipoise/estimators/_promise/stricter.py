"""Fits under stricter bounds, so that the bounds asked for hold on more than the rows fitted to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from equipoise.estimators._counted import Candidate
from equipoise.estimators._promised import Promise
from equipoise.estimators._training import BoundTraining

# From the values on the training rows to what may be promised.
Promised = Callable[[np.ndarray], Promise]


class StricterFit(Protocol):
    """A way to find a model, such as `Walk`, which tightens bounds until what is left can be promised."""

    def fit(self, given: BoundTraining) -> tuple[Candidate, Promised | None]:
        """Return the model, and what may be promised of it; None where nothing is."""
        ...
