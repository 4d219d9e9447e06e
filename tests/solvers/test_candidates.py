"""Choosing the best candidate, and the best mixture of few."""

import numpy as np
import pytest

from equipoise.solvers._proxy.candidates import best_candidate, shrink


def test_t5_8_a_table_by_hand():
    """Four candidates; violations after the maximum with 0: 0.2, 0, 0, 0.1."""
    objectives = [0.1, 0.5, 0.4, 0.2]
    constraints = [[-1.0, 0.2], [-0.3, -0.1], [0.0, -2.0], [0.1, -1.0]]
    assert best_candidate(objectives, constraints) == 2  # ranks 4 1 1 3; 0.4 breaks the tie
    # with the objectives' ranks 1 4 3 2 the worse ranks are 4 4 3 3; 0.2 breaks the tie
    assert best_candidate(objectives, constraints, rank_objectives=True) == 3


def test_one_constraint_may_be_a_vector_and_ties_go_to_the_first():
    assert best_candidate([3.0, 2.0, 2.0], [0.0, -1.0, -5.0]) == 1
    assert best_candidate([3.0, 2.0], [0.1, 0.2]) == 0


def test_without_constraints_the_objective_decides():
    assert best_candidate([3.0, 1.0, 2.0], np.empty((3, 0))) == 1
    np.testing.assert_array_equal(shrink([3.0, 1.0, 2.0], np.empty((3, 0))), [0, 1, 0])


def test_shrink_by_hand():
    """Half of an infeasible good candidate and half of a feasible bad one."""
    np.testing.assert_allclose(shrink([0.0, 1.0, 4.0], [[1.0], [-1.0], [-5.0]]), [0.5, 0.5, 0.0])


def test_shrink_where_no_mixture_is_feasible():
    """Least violation first, then the objective among those mixtures."""
    p = shrink([5.0, 1.0, 0.0], [[0.5], [0.5], [2.0]])
    np.testing.assert_allclose(p, [0, 1, 0], atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_a_mixture_is_sparse_feasible_and_no_worse_than_any_feasible_candidate(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(5, 65)), int(rng.integers(1, 6))
    f, g = rng.normal(size=n), rng.normal(size=(n, m))
    g[0] = -np.abs(g[0])  # one feasible candidate
    p = shrink(f, g)
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1.0)
    assert np.count_nonzero(p) <= m + 1
    assert (p @ g).max() <= 1e-9
    assert p @ f <= f[(g <= 0).all(axis=1)].min() + 1e-9
    # optimal: no cheaper feasible mixture of two candidates
    for i in range(n):
        for j in range(n):
            shares = np.linspace(0, 1, 11)
            mixed = np.outer(shares, g[i]) + np.outer(1 - shares, g[j])
            value = shares * f[i] + (1 - shares) * f[j]
            allowed = (mixed <= 0).all(axis=1)
            assert not allowed.any() or value[allowed].min() >= p @ f - 1e-9


@pytest.mark.parametrize("choose", [best_candidate, shrink])
def test_bad_tables(choose):
    name = choose.__name__
    with pytest.raises(ValueError, match=f"{name}: `objectives` must hold at least one"):
        choose([], np.empty((0, 2)))
    with pytest.raises(ValueError, match=f"{name}: .* must have 2 rows"):
        choose([1.0, 2.0], np.zeros((3, 1)))
    with pytest.raises(ValueError, match=f"{name}: .* must be finite"):
        choose([1.0, 2.0], [[np.nan], [0.0]])
