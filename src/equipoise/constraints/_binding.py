"""Binding: what constraints have become for training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from equipoise.constraints._constraint import Inequality
from equipoise.constraints._rate_table import RateInfo
from equipoise.rows import Groups, SumSpec, Table
from equipoise.terms import Combination, Terms


@dataclass(frozen=True, eq=False)
class Binding:
    """Constraints bound to training rows.

    Attributes
    ----------
    inequalities : tuple of Inequality
        What each constraint function is and where it comes from, in the order of the functions.
    specs : tuple of SumSpec
        The sums over rows that the functions are made of.
    combination : Combination
        Objective and constraints as functions of these sums.
    rates : tuple of RateInfo
        What the sums are, but for the functions of users, which come last.
    table : Table
        The rows.
    skipped : tuple of str
        Small intersections left without constraint.
    undefined : tuple of (str, str)
        Rules left out for want of rows, and what is missing.
    pooled : tuple of str
        Small intersections taken as one group.
    """

    inequalities: tuple[Inequality, ...]
    specs: tuple[SumSpec, ...]
    combination: Combination
    rates: tuple[RateInfo, ...]
    table: Table
    skipped: tuple[str, ...] = ()
    _denominators: tuple[sparse.csr_array, np.ndarray] | None = None
    undefined: tuple[tuple[str, str], ...] = ()
    pooled: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the constraint functions."""
        return self.combination.names

    @property
    def groups(self) -> Groups | None:
        """The sensitive columns."""
        return self.table.groups

    @property
    def terms(self) -> Terms:
        """Objective and constraints as functions of the scores of all rows, in one place."""
        return Terms(self.table.score_sums(self.specs), self.combination)

    def measured(self, values: np.ndarray, sums: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the left-hand sides (m,) in the user's terms.

        Parameters
        ----------
        values : array of shape (m,)
            Of the constraint functions.
        sums : callable
            Returns the sums (R,) from which they come; asked for where there are ratios, whose
            denominators are combinations of them.
        """
        scales = np.ones(len(self.inequalities))
        if self._denominators is not None:
            C, c = self._denominators
            scales = C @ sums()[: C.shape[1]] + c
        rows = zip(self.inequalities, values, scales)
        return np.array([row.measured(float(v), float(s)) for row, v, s in rows])
