"""The secant rule for the shifts of smooth rates."""

from __future__ import annotations

import numpy as np

# Slopes below this, relative to the largest slope or to 1 where that is more, count as 0: a shift along
# them would change nothing. Chosen.
SMALL_SLOPE = 1e-3


class Secant:
    """Looks for a shift that equals what counting adds to the model trained with it: Broyden's method.

    At first a shift is taken to lower what is missing by its own size; every move corrects that. No
    shift moves by more than twice the most that is missing.
    """

    def __init__(self, shift: np.ndarray) -> None:
        self.shift = shift
        self.left = self.right = np.zeros((shift.size, 0))  # the slopes are left right' - I
        self.move = self.missing = np.zeros(shift.size)

    def see(self, gap: np.ndarray) -> None:
        """Take the gap of the model trained with the shift, and choose the next."""
        missing, square = gap - self.shift, float(self.move @ self.move)
        if square > 1e-10:
            expected = self.missing - self.move + self.left @ (self.right.T @ self.move)
            self.left = np.column_stack((self.left, (missing - expected) / square))
            self.right = np.column_stack((self.right, self.move))
        most = 2.0 * float(np.abs(missing).max(initial=0.0))
        self.move, self.missing = np.clip(self._step(missing), -most, most), missing
        self.shift = self.shift + self.move

    def _step(self, missing: np.ndarray) -> np.ndarray:
        """Return the least-squares solution of ``slopes move = -missing``; small slopes count as 0."""
        Q = np.linalg.qr(np.column_stack((self.left, self.right)))[0]  # the slopes are -I beside it
        inside = Q.T @ missing
        slopes = (Q.T @ self.left) @ (self.right.T @ Q) - np.eye(inside.size)
        values = np.linalg.svd(slopes, compute_uv=False)
        least = SMALL_SLOPE * max(1.0, values.max(initial=0.0))
        step = np.linalg.pinv(slopes, rtol=least / max(values.max(initial=0.0), least)) @ -inside
        return missing - Q @ inside + Q @ step
