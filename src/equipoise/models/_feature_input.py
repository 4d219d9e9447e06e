"""Reading features: dense, sparse or a tensor, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import is_tensor


def checked_matrix(A: Any) -> Any:
    """Return features as floating-point numbers, all finite: an array, a CSR matrix or a tensor."""
    owner = "Features"
    if sparse.issparse(A):
        A = canonical(sparse.csr_array(A))
        A = A if A.dtype.kind == "f" else A.astype(np.float64)
        _check.finite(owner, "A", A.data)
    elif is_tensor(A):
        A = A.detach()
    else:
        if not (isinstance(A, np.ndarray) and A.dtype.kind == "f"):
            A = _check.matrix(owner, "A", A)
        _check.finite(owner, "A", A)
    if A.ndim != 2 or A.shape[0] == 0 or A.shape[1] == 0:
        _check.fail(owner, "A", "must have shape (n, d) with n, d >= 1", tuple(A.shape))
    return A


def canonical(A: Any) -> Any:
    """Return a CSR matrix without entries that have to be added up; itself if it has none."""
    if not sparse.issparse(A):
        _check.fail("canonical", "A", "must be a sparse matrix", A)
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    return A
