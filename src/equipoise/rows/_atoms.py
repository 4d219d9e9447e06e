"""Atoms: disjoint sets of rows, of which given sets of rows are unions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def atoms_of(n: int, members: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Divide `n` rows into atoms, so that each of S sets of rows is a union of some.

    Returns
    -------
    atoms : ndarray of shape (n,)
        The atom (0..A-1) of each row; -1 for a row of none of the sets.
    inside : ndarray of shape (A, S)
        Whether an atom lies in a set.
    """
    atoms, inside = np.zeros(n, dtype=np.intp), np.zeros((1, 0), dtype=bool)
    for rows in members:
        codes = 2 * atoms
        codes[rows] += 1
        found = np.flatnonzero(np.bincount(codes, minlength=2 * len(inside)))
        number = np.zeros(2 * len(inside), dtype=np.intp)
        number[found] = np.arange(found.size)
        atoms, inside = number[codes], np.column_stack((inside[found // 2], found % 2 == 1))
    some = inside.any(axis=1)
    number = np.where(some, np.cumsum(some) - 1, -1)
    return number[atoms], inside[some]
