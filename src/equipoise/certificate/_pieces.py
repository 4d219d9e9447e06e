"""Convex functions whose gradients are linear on pieces, such as squared distances from a normal cone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# How often the way to the minimiser on a piece is halved, at the most. Chosen.
HALVINGS = 12


def least_by_pieces(
    loss: Callable[[np.ndarray], float],
    on_piece: Callable[[np.ndarray], np.ndarray],
    w: np.ndarray,
    pieces: int,
    nothing: float,
) -> np.ndarray:
    """Minimise a convex `loss` from `w` on, on at most so many pieces.

    `on_piece` gives the minimiser of what is the loss on the piece around a point. It may lie on another
    piece, so each step goes as far towards it as the loss falls. It ends where the loss falls by less than
    the share `nothing`.
    """
    least = loss(w)
    for _ in range(pieces):
        ahead = on_piece(w)
        for shrink in 0.5 ** np.arange(HALVINGS):
            trial = w + shrink * (ahead - w)
            trial_loss = loss(trial)
            if trial_loss < least:
                break
        else:
            break
        gain, w, least = least - trial_loss, trial, trial_loss
        if gain <= nothing * least:
            break
    return w
