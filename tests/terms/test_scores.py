"""Scores: accurate everywhere, one exponential, dtype kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, log1p

from equipoise.terms import Logistic, PairLoss, Scores, Sigmoid, TruncatedLogistic

finite = st.floats(-1e4, 1e4)


@given(st.lists(finite, min_size=1, max_size=20))
def test_sigmoid_and_softplus_agree_with_scipy(values):
    s = np.array(values)
    scores = Scores(s)
    np.testing.assert_allclose(scores.sigmoid, expit(s), rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(scores.complement, expit(-s), rtol=1e-14, atol=1e-300)
    softplus = np.maximum(-s, 0) + log1p(np.exp(-np.abs(s)))
    np.testing.assert_allclose(scores.softplus_minus, softplus, rtol=1e-14)
    np.testing.assert_allclose(scores.variance, expit(s) * expit(-s), rtol=1e-13, atol=1e-300)
    np.testing.assert_array_equal(scores.positive, (s > 0).astype(float))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e4, 1e30])
def test_nothing_overflows(dtype, size):
    s = np.array([-size, -1.0, 0.0, 1.0, size], dtype=dtype)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for function in (Logistic(), TruncatedLogistic(), Sigmoid(), Sigmoid(8.0), PairLoss(3.0)):
            for sign in (1, -1):
                z = Scores(s).margins(np.int8(sign))
                for array in (function.value(z), function.slope(z), function.curvature(z)):
                    assert np.isfinite(array).all()
                    assert array.dtype == dtype


def test_one_exponential_serves_all_functions_of_both_signs(monkeypatch, rng):
    calls = []
    true_exp = np.exp
    monkeypatch.setattr(np, "exp", lambda x: calls.append(x.shape) or true_exp(x))
    scores = Scores(rng.normal(size=50))
    sign = np.where(rng.random(50) < 0.5, -1, 1).astype(np.int8)
    for z in (scores, scores.margins(sign)):
        for function in (Logistic(), TruncatedLogistic(), Sigmoid(), PairLoss()):
            function.value(z), function.slope(z), function.curvature(z)
    assert calls == [(50,)]
    for _ in range(2):
        Sigmoid(4.0).value(scores), Sigmoid(4.0).curvature(scores)
    assert len(calls) == 2


def test_of_keeps_scores():
    scores = Scores(np.zeros(2))
    assert Scores.of(scores) is scores
    assert scores.sharpened(1.0) is scores
