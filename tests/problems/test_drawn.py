"""Constraints drawn at random: unbiased, and of use to the methods for mini-batches."""

import numpy as np
import pytest

from equipoise import group_loss, solve
from equipoise.constraints import bind
from equipoise.datasets import make_census
from equipoise.models import LinearModel
from equipoise.problems import REFERENCES, DrawnConstraints, LearningProblem
from equipoise.sets import L2Ball
from equipoise.solvers import PLADA, SwitchingSubgradient, YuNeelyWei

DATA = make_census(400, seed=1)
MODEL = LinearModel((DATA.X - DATA.X.mean(axis=0)) / DATA.X.std(axis=0))


def groups(rows=DATA, count=4):
    """Overlapping groups: rows above quantiles of a column, as columns of booleans."""
    column = rows.X[:, 0]
    return {f"above {q}": column > np.quantile(column, q) for q in np.linspace(0.1, 0.8, count)}


def overlapping(mode="all", excess=0.0, batch=None, count=4):
    rule = group_loss(excess, mode=mode, groups=(True,))
    terms = bind(rule, DATA.y, groups(count=count)).terms
    return LearningProblem.of(MODEL, terms, batch=batch, domain=L2Ball(3.0))


def test_t5_11_the_mean_over_groups_is_the_mean_of_all():
    every, mean = overlapping(excess=0.1), overlapping("mean", excess=0.1)
    x = np.random.default_rng(0).normal(size=MODEL.dim)
    assert mean.n_constraints == 1
    np.testing.assert_allclose(
        mean.at(x).constraints[0], every.at(x).constraints.mean(), atol=1e-14
    )
    expected = every.at(x).gradients(range(1, 5)).mean(axis=0)
    np.testing.assert_allclose(mean.at(x).gradient(1), expected, atol=1e-12)


@pytest.mark.parametrize("count", [1, 3, 4])
def test_values_and_gradients_are_unbiased(count):
    base = overlapping()
    drawn, rng = DrawnConstraints(base, count), np.random.default_rng(3)
    x, weights = np.full(MODEL.dim, 0.3), np.array([1.0, 0.5, -2.0, 1.0, 3.0])
    values, gradients = [], []
    for _ in range(4000):
        point = drawn.sample(rng).at(x)
        values.append(point.values)
        gradients.append(point.vjp(weights))
        assert np.count_nonzero(point.constraints) == count
    whole = base.at(x)
    spread = np.abs(whole.constraints).max() / np.sqrt(4000) * 4
    np.testing.assert_allclose(np.mean(values, axis=0), whole.values, atol=4 * spread)
    size = np.abs(whole.gradients(range(5)) * weights[:, None]).max()
    np.testing.assert_allclose(
        np.mean(gradients, axis=0), whole.vjp(weights), atol=16 * size / np.sqrt(4000)
    )


def test_it_draws_rows_where_the_base_does_and_the_whole_is_that_of_the_base():
    drawn, x = DrawnConstraints(overlapping(batch=50), 2), np.zeros(MODEL.dim)
    batch = drawn.sample(np.random.default_rng(0))
    assert batch.base.rows.n_rows == 50
    assert batch.sample(np.random.default_rng(1)) is batch
    np.testing.assert_array_equal(drawn.at(x).values, overlapping().at(x).values)
    assert DrawnConstraints(REFERENCES["convex"]().problem).stochastic


@pytest.mark.parametrize(
    "solver",
    [PLADA(eta=0.01), YuNeelyWei(steps=4000), SwitchingSubgradient()],
    ids=lambda solver: solver.name,
)
def test_methods_for_mini_batches_take_it(solver):
    base = overlapping(excess=0.02)
    free = LearningProblem.of(MODEL, bind([], DATA.y).terms, domain=L2Ball(3.0))
    assert base.at(solve(free, tol=1e-6).x).violation > 0.02  # so the rule matters
    exact = solve(base, tol=1e-6)
    assert exact.success
    found = solve(DrawnConstraints(base), solver, max_steps=4000, second_order=False)
    assert found.maxcv <= 0.02
    assert found.fun <= exact.fun + 0.03
