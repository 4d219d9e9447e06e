"""What a combination of sums says of its functions: at one point, and everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class CombinationPoint:
    """Objective and constraints as functions of the sums, at one vector of sums.

    Attributes
    ----------
    values : ndarray of shape (m + 1,)
        The objective first, then the constraints (feasible: ``<= 0``).
    pull : callable
        Weights ``(m + 1,)`` to the derivative (R,) of the weighted sum.
    bend : callable or None
        ``(weights, change)`` to the second derivative of the weighted sum applied to a change of the
        sums, (R,); None where all functions are linear.
    rows : callable
        An index array of k functions to the numbers of the r sums that they depend on, and their
        derivatives with respect to these, (k, r): a sparse matrix where coefficients are many.
    push : callable
        A change of the sums (R,) to that of every function, ``(m + 1,)``, to first order.
    """

    values: np.ndarray
    pull: Callable[[np.ndarray], np.ndarray]
    bend: Callable[[np.ndarray, np.ndarray], np.ndarray] | None
    rows: Callable[[np.ndarray], tuple[np.ndarray, Any]]
    push: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class FunctionBounds:
    """Constants of every function of the parameters, shape (m + 1,) each; None: unknown.

    Attributes
    ----------
    lipschitz : a bound on every gradient.
    smoothness : a Lipschitz constant of every gradient.
    weak_convexity : rho_i, such that ``f_i + rho_i/2 |x|^2`` is convex; 0 where convex.
    lower : a number not above the objective.
    """

    lipschitz: np.ndarray | None = None
    smoothness: np.ndarray | None = None
    weak_convexity: np.ndarray | None = None
    lower: float | None = None
