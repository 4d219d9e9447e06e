"""PyTorch tensors give the answers of arrays."""

import numpy as np
import pytest

from .examples import EXAMPLES, N, rate_terms

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [n for n in EXAMPLES if n not in ("callable", "joined")])
def test_tensors_give_the_answers_of_arrays(name, dtype, rng):
    terms, shape = EXAMPLES[name][0](), EXAMPLES[name][1]
    s, d = rng.normal(size=(2, *shape)).astype(dtype)
    weights = rng.normal(size=terms.n_constraints + 1)
    ts, td = torch.from_numpy(s), torch.from_numpy(d)
    point, tensor = terms.at(s), terms.at(ts)
    tol = {"rtol": 1e-11, "atol": 1e-13} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-5}
    assert isinstance(tensor.values, np.ndarray)
    np.testing.assert_allclose(tensor.values, point.values, **tol)
    np.testing.assert_allclose(terms.thresholded(ts), terms.thresholded(s), **tol)
    for image, expected in (
        (tensor.slope(weights), point.slope(weights)),
        (tensor.curve(weights, td), point.curve(weights, d)),
    ):
        assert image.dtype == ts.dtype
        np.testing.assert_allclose(image.numpy(), expected, **tol)


def test_a_mini_batch_of_tensors(rng):
    terms, s = rate_terms(), rng.normal(size=N)
    index = np.array([4, 9, 1])
    part = terms.rows(index, 3.0)
    np.testing.assert_allclose(
        part.at(torch.from_numpy(s[index])).values, part.at(s[index]).values, rtol=1e-12
    )
