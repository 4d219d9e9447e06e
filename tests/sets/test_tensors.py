"""The same answers for PyTorch tensors."""

import numpy as np
import pytest

from .examples import every_set, far

torch = pytest.importorskip("torch")


@every_set
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors_give_the_answers_of_arrays(X, d, dtype, rng):
    for _ in range(10):
        x, v, rows = far(X, d, rng), rng.normal(size=d), rng.normal(size=(3, d))
        x, v, rows = (array.astype(dtype) for array in (x, v, rows))
        tx, tv, trows = (torch.from_numpy(array.copy()) for array in (x, v, rows))
        p = X.tangent_map(X.project(x), v)
        projected = X.project(tx)
        q = X.tangent_map(projected, tv)
        assert isinstance(projected, torch.Tensor)
        assert projected.dtype == tx.dtype
        atol = 1e-12 if dtype == "float64" else 1e-4
        np.testing.assert_allclose(projected.numpy(), X.project(x), atol=atol)
        for image, expected in ((q(tv), p(v)), (q(trows), p(rows))):
            assert image.dtype == tx.dtype
            np.testing.assert_allclose(image.numpy(), expected, atol=atol)
        np.testing.assert_array_equal(tx.numpy(), x)
        assert X.normal_distance(projected, tv) == pytest.approx(
            X.normal_distance(X.project(x), v), abs=atol
        )


@every_set
def test_integer_tensors_are_refused(X, d):
    with pytest.raises(ValueError, match="`x` must be an array of floating-point numbers"):
        X.project(torch.ones(d, dtype=torch.int64))
