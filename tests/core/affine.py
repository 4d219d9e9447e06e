"""A problem of linear functions, in which every number of a certificate can be had by hand."""

import numpy as np

from equipoise import FunctionProblem


def affine(A, b, slope=None, domain=None, facts=None):
    """``<slope, x>`` under ``A x + b <= 0``."""
    A, b = np.atleast_2d(np.asarray(A, float)), np.asarray(b, float)
    slope = np.ones(A.shape[1]) if slope is None else np.asarray(slope, float)
    rows = [lambda x, row=row, shift=shift: (row @ x + shift, row) for row, shift in zip(A, b)]
    return FunctionProblem(
        lambda x: (slope @ x, slope), rows, domain=domain, dim=A.shape[1], facts=facts
    )
