"""What a network is worth after an epoch of its training, on rows left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.terms import Combination, Scores, ScoreSum


@dataclass(frozen=True)
class Epoch:
    """One pass over the rows: what the rows left out for validation say after it."""

    loss: float
    violation: float  # the largest, by counting

    def merit(self, price: float) -> float:
        """Return the loss with violations at a price."""
        return self.loss + price * max(self.violation, 0.0)


class Judge:
    """Loss and violation of a module on rows left out, in its `eval` mode."""

    def __init__(
        self, owner: str, X: Any, sums: ScoreSum, combination: Combination, rows: np.ndarray
    ) -> None:
        import torch

        self._owner, self._combination = owner, combination
        self._X = X[torch.as_tensor(rows, device=X.device)]
        self._sums = sums.rows(rows, sums.n_rows / rows.size)

    def __call__(self, module: Any) -> Epoch:
        import torch

        module.eval()
        with torch.no_grad():
            found = scores_of(self._owner, module, self._X).double().cpu().numpy()
        scores = Scores(found)
        loss = self._combination.plain_values(self._sums.values(scores))[0]
        counted = self._combination.plain_values(self._sums.thresholded(scores))[1:]
        return Epoch(float(loss), float(counted.max(initial=-math.inf)))


def scores_of(owner: str, module: Any, X: Any) -> Any:
    """Return a module's scores (n,) of some rows; refuse what is none."""
    scores = module(X)
    shape, n = tuple(getattr(scores, "shape", ())), len(X)
    if shape not in ((n,), (n, 1)) or not scores.is_floating_point():
        rule = f"must give {n} rows scores of shape ({n},) or ({n}, 1)"
        _check.fail(owner, "module", rule, shape or type(scores))
    return scores.reshape(n)
