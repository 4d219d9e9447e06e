"""Norms and finiteness: quick ways must agree with the slow ones, at every size and precision."""

import math

import numpy as np
import pytest

from equipoise._array import all_finite, norm


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("dim", [1, 2, 123, 5000])
def test_norm_neither_overflows_nor_vanishes(dtype, dim):
    x = np.random.default_rng(dim).normal(size=dim).astype(dtype)
    exact = math.sqrt(math.fsum(float(entry) ** 2 for entry in x))
    tiny, huge = (-300, 300) if dtype is np.float64 else (-30, 30)
    for power in (tiny, tiny // 2, tiny // 4, 0, huge // 4, huge // 2, huge):
        scale = dtype(10.0) ** dtype(power)
        precision = 1e3 * float(np.finfo(dtype).eps)
        assert norm(x * scale) == pytest.approx(exact * float(scale), rel=precision)


def test_norm_at_the_ends():
    assert norm(np.zeros(3)) == norm(np.zeros(0)) == 0.0
    assert norm(np.array([1.0, -np.inf])) == math.inf
    assert math.isnan(norm(np.array([1.0, np.nan])))
    assert norm(np.array([5e-324, 0.0])) == 5e-324


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_entry_that_is_not_finite_is_seen_wherever_it_stands(dtype, bad):
    for where in (0, 61, 122):
        x = np.random.default_rng(1).normal(size=123).astype(dtype)
        assert all_finite(x)
        x[where] = bad
        assert not all_finite(x)
        assert not all_finite(x[:, None])
    assert not all_finite(np.array([np.inf, -np.inf], dtype))


def test_large_numbers_are_finite():
    assert all_finite(np.full(3, 1e308))
    assert all_finite(np.full(3, 3e38, np.float32))
    assert all_finite(np.arange(3))
