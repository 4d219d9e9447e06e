"""Prices of constraints in a training whose constraints are any functions of sums over rows."""

from __future__ import annotations

import numpy as np

from equipoise.terms import Combination
from equipoise.torch._dual import LARGEST_NEWS, STEPS_PER_UPDATE, Multipliers

# The gain of all multipliers. Chosen: as in a loop whose constraints are known to 0.15 from one batch. The
# last layer is fitted to its bounds afterwards, so little depends on it.
GAIN = 0.4


class BatchPrices:
    """What the sums of a batch weigh in its gradient, by running means of earlier ones.

    Parameters
    ----------
    combination : Combination
    window : int
        Batches that a mean is taken over.
    """

    def __init__(self, combination: Combination, window: int) -> None:
        self._combination, self._window = combination, window
        self.multipliers = Multipliers(combination.n_constraints)
        self._smooth = self._counted = np.zeros(0)
        self._seen = 0
        self._weights = np.zeros(0)

    def weights(self, smooth: np.ndarray, counted: np.ndarray) -> np.ndarray:
        """Return the weights (R,) of the sums in the gradient, after the sums of one more batch.

        1. average the sums over the last batches, smooth and counted ones
        2. count the violations, and move the multipliers by them, if it is their turn
        3. weigh objective and constraints
        """
        import torch

        if not self._seen:
            self._smooth, self._counted = np.zeros_like(smooth), np.zeros_like(counted)
        turn = self._seen % STEPS_PER_UPDATE == 0
        self._seen += 1
        share = 1.0 / min(self._seen, self._window)  # 1
        self._smooth += share * (smooth - self._smooth)
        self._counted += share * (counted - self._counted)
        if turn:
            values = self._combination.plain_values(self._counted)[1:]  # 2
            values = torch.as_tensor(values, dtype=torch.float64).clamp_(
                -LARGEST_NEWS, LARGEST_NEWS
            )
            self.multipliers.step(values, gain=GAIN)
            prices = np.r_[1.0, self.multipliers.now.numpy()]
            self._weights = self._combination.at(self._smooth).pull(prices)  # 3
        return self._weights

    @property
    def largest(self) -> float:
        """The largest multiplier, as it is in the long run."""
        return float(self.multipliers.integral.numpy().max(initial=0.0))
