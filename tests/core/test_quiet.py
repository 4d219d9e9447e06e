"""Products in single precision are finite and silent, whatever memory holds beside the matrix."""

import ctypes

import numpy as np
import pytest

from equipoise.models import LinearModel, linear_scores
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._newton.remembered import Remembered

SIGNALLING = 0x7FA00000  # a NaN that any arithmetic reports


class Large(ctypes.Structure):
    _fields_ = (("numbers", ctypes.c_uint32 * 20_000),)


def leave_nans_on_the_stack():
    """Pass a large structure by value: its copy stays where the next call has its own variables."""
    function = ctypes.CFUNCTYPE(ctypes.c_int, Large)(("PyGILState_Check", ctypes.pythonapi))
    function(Large((ctypes.c_uint32 * 20_000)(*[SIGNALLING] * 20_000)))


@pytest.fixture(params=range(12, 16))
def matrix(request, rng):
    """With 5 columns, for which OpenBLAS 0.3.31 reads too much on AVX-512."""
    return rng.standard_normal((request.param, 5)).astype(np.float32)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


class Dirty(np.ndarray):
    """Leaves the stack dirty after every product."""

    def __matmul__(self, other):
        product = np.asarray(self) @ other
        leave_nans_on_the_stack()
        return product


def test_what_is_known_of_a_hessian(matrix):
    d = len(matrix)
    v = np.arange(d) / d
    found = Preconditioner(np.ones(d), Remembered(matrix.view(Dirty), matrix)).solve(v)
    P = np.linalg.qr(matrix.astype(np.float64))[0]
    left = np.eye(d) - P @ P.T
    np.testing.assert_allclose(found, left @ left @ v + P @ P.T @ v, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("order", ["C", "F"])
def test_scores_and_their_products(matrix, order):
    A = np.asarray(matrix, order=order)
    model, x = LinearModel(A, intercept=False), np.arange(5.0)
    exact = A.astype(np.float64) @ x
    leave_nans_on_the_stack()
    np.testing.assert_allclose(model.scores(x), exact, rtol=1e-4, atol=1e-5)
    leave_nans_on_the_stack()
    np.testing.assert_allclose(linear_scores(A, x[None], 0.0), exact, rtol=1e-4, atol=1e-5)
    leave_nans_on_the_stack()
    pulled, _ = model.features.sandwich(np.ones(len(A), np.float32), x, 0.0)
    np.testing.assert_allclose(pulled, A.T.astype(np.float64) @ exact, rtol=1e-4, atol=1e-4)
