"""Choice: which of several models a fit has kept, by which measure, and on which rows."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """What was compared, and what was chosen.

    Attributes
    ----------
    scoring : str
        The measure.
    chosen : str
        What the model returned minimises.
    scores : dict
        For everything compared, its score on rows that its fit had not seen; empty where nothing was
        compared.
    rows : int
        How many rows these were.
    training : float
        The score of the model returned, on the training rows; NaN where it was fitted again for a promise.
    first : float
        The same of the first fit, without any search.
    """

    scoring: str
    chosen: str
    scores: dict[str, float]
    rows: int
    training: float
    first: float

    def __str__(self) -> str:
        parts = [f"minimises the {self.chosen}"]
        if not math.isnan(self.training):
            parts.append(
                f"{self.scoring} {self.training:.4f} on the training rows (first fit {self.first:.4f})"
            )
        if self.scores:
            listed = ", ".join(f"{name} {value:.4f}" for name, value in self.scores.items())
            parts.append(f"{self.scoring} on {self.rows} rows left out to compare: {listed}")
        return "; ".join(parts)
