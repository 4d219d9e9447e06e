"""Rows as what a network takes: standardised tensors, in its precision and on its device; validation rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.estimators._inputs import read_other
from equipoise.rows import MemoryTable

TRIED_ROWS = 8  # on which a network is tried before it is used or trained; chosen: a few


def as_rows(X: Any, centre: np.ndarray, scale: np.ndarray, module: Any) -> Any:
    """Return rows as a tensor for a module: standardised, like its parameters."""
    import torch

    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    like = next((p for p in module.parameters() if p.is_floating_point()), torch.zeros(1))
    standardised = (dense.astype(np.float64) - centre) / scale
    return torch.as_tensor(standardised).to(dtype=like.dtype, device=like.device)


def tensor_of_rows(owner: str, X: Any, like: Any) -> Any:
    """Return rows of any shape as a tensor with the precision and the device of `like`, checked."""
    import torch

    if not isinstance(X, torch.Tensor):
        if not (isinstance(X, np.ndarray) and X.dtype.kind == "f"):
            X = _check.numbers(owner, "X", X)
        X = torch.tensor(X)
    if X.dtype == torch.bool or X.is_complex():
        _check.fail(owner, "X", "must hold real numbers", str(X.dtype))
    if X.ndim < 2 or X.numel() == 0:
        _check.fail(owner, "X", "must have shape (n, d) or (n, ...)", tuple(X.shape))
    X = X.detach().to(device=like.device)
    if not X.is_floating_point():
        return X
    X = X.to(dtype=like.dtype)
    _check.finite(owner, "X", X)
    return X


def centre_and_scale(X: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted means and standard deviations of the columns; 1 of a constant one."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    X = X.astype(np.float64)
    share = weight / weight.sum()
    centre = share @ X
    scale = np.sqrt(share @ (X - centre) ** 2)
    size = np.abs(X).max(axis=0, initial=0.0)
    return centre, np.where(scale > 1e-12 * size, scale, 1.0)


def validation_rows(estimator: Any, given: Any, classes: Any) -> MemoryTable | None:
    """Return validation rows as a table, checked; None where there are none."""
    owner = type(estimator).__name__
    if given is None:
        return None
    if estimator.confidence is not None:
        reason = (
            "`validation` is for fits without a promise: leave out `confidence`, or `validation`."
        )
        raise _check.InputError(owner, reason, "validation")
    parts = _check.sequence(owner, "validation", given)
    if len(parts) not in (2, 3):
        _check.fail(owner, "validation", "must be (X, y) or (X, y, sensitive_features)", parts)
    return read_other(estimator, classes, *parts)
