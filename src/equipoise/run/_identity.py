"""Which run a checkpoint is of: what must agree, and where it does not.

Numbers are stored and compared with a tolerance, not hashed: other threads and other BLAS libraries change
the last digits, and rounded numbers can always lie on two sides of an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise._array import Array, to_numpy

# Numbers of the same run agree to this relative error. Half of the digits of double precision: different
# orders of summation, and projections by quadratic programs, stay below; other problems do not. Chosen.
WITHIN = 1e-8
# A column of numbers counts as at least this share of the largest number of all: what is exactly 0 in one
# process is a rounding error of the others in the next. Chosen.
LEAST_SHARE = 1e-3
DIRECTIONS = 3  # along which a long vector is measured; one tells two vectors apart, almost surely


@dataclass(frozen=True, eq=False)
class Measured:
    """Numbers (n, k), the same up to rounding in every process; columns are compared by their size."""

    numbers: np.ndarray
    within: float = WITHIN

    @classmethod
    def of(cls, *vectors: Array, within: float = WITHIN) -> Measured:
        """Measure vectors: their lengths, and components along directions that are always the same."""
        return cls(np.array([_components(vector) for vector in vectors]), within)

    def agrees(self, other: Any) -> bool:
        """Whether `other` holds the same numbers; what is not finite must be the same in both."""
        if not isinstance(other, Measured) or self.numbers.shape != other.numbers.shape:
            return False
        mine, theirs = self.numbers, other.numbers
        finite = np.isfinite(mine) & np.isfinite(theirs)
        if not np.array_equal(mine[~finite], theirs[~finite], equal_nan=True):
            return False
        mine, theirs = np.where(finite, mine, 0.0), np.where(finite, theirs, 0.0)
        size = np.maximum(np.abs(mine), np.abs(theirs))
        scale = np.maximum(size.max(axis=0, initial=0.0), LEAST_SHARE * size.max(initial=0.0))
        return bool((np.abs(mine - theirs) <= self.within * scale).all())

    def __str__(self) -> str:
        return ", ".join(f"{number:.6g}" for number in self.numbers.ravel()[:6])


def difference(stored: dict[str, Any], own: dict[str, Any]) -> str | None:
    """Return where two identities differ, as part of a sentence; None where they agree."""
    for key, value in own.items():
        found = _differs(stored.get(key), value, ())
        if found is not None:
            path, there, here = found
            if not path:
                return f"its {key} is {_short(there)}, this run's is {_short(here)}"
            inside = ", ".join(path)
            return f"its {key} is another: {inside} is {_short(there)} there, {_short(here)} here"
    return None


def _differs(
    there: Any, here: Any, path: tuple[str, ...]
) -> tuple[tuple[str, ...], Any, Any] | None:
    """Return the path of the first difference, and what stands there."""
    if type(here) is dict and type(there) is dict and there.keys() == here.keys():
        parts = [(str(key), there[key], here[key]) for key in here]
    elif type(here) is list and type(there) is list and len(there) == len(here):
        parts = [(f"entry {i}", *both) for i, both in enumerate(zip(there, here))]
    else:
        return None if _agree(there, here) else (path, there, here)
    found = (_differs(one, other, (*path, name)) for name, one, other in parts)
    return next((where for where in found if where is not None), None)


def _agree(there: Any, here: Any) -> bool:
    if isinstance(here, Measured):
        return here.agrees(there)
    if type(here) is float and type(there) is float:
        return Measured(np.array([[here]])).agrees(Measured(np.array([[there]])))
    return type(there) is type(here) and bool(there == here)


def _components(vector: Array) -> list[float]:
    x = np.ravel(to_numpy(vector))
    directions = np.random.default_rng(x.size)
    along = [float(directions.normal(size=x.size) @ x) for _ in range(DIRECTIONS)]
    return [float(np.linalg.norm(x)), *along]


def _short(value: Any) -> str:
    text = str(value) if isinstance(value, Measured) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
