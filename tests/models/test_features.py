"""Features: entries, and products with few rows."""

import numpy as np
import pytest
from scipy import sparse

from equipoise.models import Features


def test_entries_that_have_to_be_added_up_are(rng):
    """CSR with the same place twice: squares of the parts are not the square of the sum."""
    data, indices = np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0])
    A = sparse.csr_array((data, indices, np.array([0, 2, 3])), shape=(2, 2))
    features = Features(A)
    np.testing.assert_allclose(features.squared_norms, [9.0, 9.0])
    np.testing.assert_array_equal(A.data, data)  # the user's matrix is left alone


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_few_rows_are_pulled_back_alone(kind, rng):
    A = rng.normal(size=(200, 7))
    features = Features(kind(A), scale=np.arange(1.0, 8.0), center=A.mean(0))
    gradient = np.zeros(200)
    for rows in ([], [3], [3, 77, 150]):
        gradient[rows] = 1.0 + np.arange(len(rows))
        expected = ((A - A.mean(0)) / np.arange(1.0, 8.0)).T @ gradient
        np.testing.assert_allclose(features.transposed(gradient), expected, atol=1e-12)
