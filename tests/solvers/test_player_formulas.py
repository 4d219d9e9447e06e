"""Players and candidates of the proxy-Lagrangian, each against its formula."""

import numpy as np

from equipoise import sets
from equipoise.solvers._proxy.candidates import best_candidate, shrink
from equipoise.solvers._proxy.players import (
    AdditiveSwapRegret,
    ExternalRegret,
    SwapRegret,
    _first,
    normalised,
    stationary,
)

# ------------------------------------------------------------------ players and candidates


def test_first_weights_are_those_of_the_multipliers_as_far_as_allowed():
    np.testing.assert_allclose(_first(np.array([1.0, 2.0]), 0.3), [0.25, 0.25, 0.5])
    low = 0.6 / 3
    w = np.maximum(np.array([0.0, 3.0]) / 4, low)
    w = w / max(1.0, w.sum() / (1 - low))
    np.testing.assert_allclose(_first(np.array([0.0, 3.0]), 0.6), [1 - w.sum(), *w])
    np.testing.assert_allclose(_first(np.zeros(2), 0.6), [0.6, 0.2, 0.2])


def test_players_learn_by_their_formulas():
    gain, lam, tau = np.array([0.0, 2.0, -1.0]), np.array([0.5, 0.3, 0.2]), 0.4
    play = np.array([[0.5, 0.2, 0.3], [0.25, 0.5, 0.3], [0.25, 0.3, 0.4]])
    grown = play * np.exp(tau * np.outer(gain, lam))
    np.testing.assert_allclose(SwapRegret(1e-3).learn(play, gain, lam, tau), grown / grown.sum(0))
    one = lam * np.exp(tau * gain)
    np.testing.assert_allclose(ExternalRegret(1e-3).learn(lam, gain, lam, tau), one / one.sum())
    moved = play + tau * np.outer(gain, lam)
    found = AdditiveSwapRegret().learn(play, gain, lam, tau)
    np.testing.assert_allclose(found[:, 1], sets.Simplex().project(moved[:, 1]))
    np.testing.assert_allclose(found.sum(axis=0), 1.0)
    assert ExternalRegret().weights(lam) is lam
    np.testing.assert_allclose(play @ SwapRegret().weights(play), SwapRegret().weights(play))
    assert SwapRegret().start(np.array([1.0, 2.0])).shape == (3, 3)
    np.testing.assert_allclose(
        AdditiveSwapRegret().start(np.array([0.0, 1.0]))[:, 2], [0.5, 0, 0.5]
    )


def test_floors_raise_the_least_weights_and_lower_the_others():
    p = normalised(np.log([0.7, 0.29, 0.01]), 0.1)
    np.testing.assert_allclose(p, [0.7 * 0.9 / 0.99, 0.29 * 0.9 / 0.99, 0.1])
    both = normalised(np.log([0.88, 0.105, 0.015]), 0.1)
    np.testing.assert_allclose(both, [0.8, 0.1, 0.1])
    edge = normalised(np.log([0.5, 0.25, 0.25]), 0.25)
    np.testing.assert_allclose(edge, [0.5, 0.25, 0.25])
    columns = normalised(np.log(np.array([[0.7, 0.5], [0.29, 0.3], [0.01, 0.2]])), 0.1)
    np.testing.assert_allclose(columns, np.array([p, [0.5, 0.3, 0.2]]).T)


def test_plays_that_are_far_apart_leave_the_others_at_the_floor():
    """Their ratio is beyond all numbers."""
    np.testing.assert_allclose(normalised(np.array([0.0, 2000.0, -500.0]), 0.1), [0.1, 0.8, 0.1])
    np.testing.assert_allclose(normalised(np.array([[-2000.0], [0.0]]), 0.1), [[0.1], [0.9]])


def test_stationary_weights_of_matrices_of_any_size(monkeypatch):
    from equipoise.solvers._proxy import players

    rng = np.random.default_rng(0)
    M = rng.dirichlet(np.ones(6), 6).T
    small = stationary(M)
    np.testing.assert_allclose(M @ small, small, atol=1e-12)
    monkeypatch.setattr(players, "MAX_WEIGHTS_FOR_LEAST_SQUARES", 5)
    np.testing.assert_allclose(stationary(M), small, atol=1e-9)
    with monkeypatch.context() as without:
        without.setattr(np.linalg, "lstsq", None)  # Arnoldi's method is enough
        np.testing.assert_allclose(stationary(M), small, atol=1e-9)
    monkeypatch.setattr(players, "eigs", lambda matrix, **_: (None, np.ones((6, 1))))
    np.testing.assert_allclose(stationary(M), small, atol=1e-9)  # or else its answer is not taken


def test_the_best_candidate_and_the_best_mixture():
    f, g = np.array([1.0, 3.0, 2.0, 0.0]), np.array([-1.0, -1.0, 0.0, 0.5])
    assert best_candidate(f, g) == 0
    assert best_candidate(f[1:], g[1:]) == 1
    assert best_candidate([5.0, 0.0, 0.5], [0.0, 2.0, 1.0], rank_objectives=True) == 2
    assert best_candidate([2.0, 2.0], [1.0, 1.0]) == 0
    assert best_candidate([2.0, 1.0], np.empty((2, 0))) == 1
    np.testing.assert_allclose(shrink([0.0, 1.0], [[1.0], [-1.0]]), [0.5, 0.5])
    np.testing.assert_allclose(shrink([0.0, 1.0], [[3.0], [-1.0]]), [0.25, 0.75])
    np.testing.assert_allclose(shrink([0.0, 1.0], [[3.0], [1.0]]), [0.0, 1.0])
    assert shrink([3.0, 1.0, 2.0], np.empty((3, 0))).tolist() == [0.0, 1.0, 0.0]
