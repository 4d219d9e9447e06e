"""The augmented Lagrangian method for mini-batches."""

import numpy as np
import pytest

from equipoise import demographic_parity, solve
from equipoise.constraints import bind
from equipoise.datasets import make_census
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.run import Online
from equipoise.sets import L2Ball
from equipoise.solvers import StochasticLagrangian

DATA = make_census(2000, seed=0)
MODEL = LinearModel((DATA.X - DATA.X.mean(axis=0)) / DATA.X.std(axis=0))


def fair(batch=None, loss="logistic", domain=None):
    terms = bind(demographic_parity(0.02), DATA.y, DATA.groups, loss=loss).terms
    return LearningProblem.of(MODEL, terms, batch=batch, l2=1e-4, domain=domain)


@pytest.mark.parametrize("batch", [None, 30])
def test_a_naive_twin(batch):
    problem, solver = fair(batch, domain=L2Ball(1.0)), StochasticLagrangian(memory=7)
    run, rng = Online(problem, solver, seed=5), np.random.default_rng(5)
    x = mean = v = np.zeros(MODEL.dim)
    lam = g = np.zeros(2)
    outside = 0
    for t in range(50):
        run.step()
        point = problem.sample(rng).at(x)
        f = point.constraints
        seen = f if batch is None else g
        mu = np.maximum(lam + 10.0 * seen, 0.0)
        h = point.gradient(0) + mu[0] * point.gradient(1) + mu[1] * point.gradient(2)
        v = v + (h**2 - v) / min(t + 1, 100)
        moved = x - 0.1 * h / (np.sqrt(v * (t + 1)) + 1e-12)
        outside += np.linalg.norm(moved) > 1.0
        x = moved / max(1.0, np.linalg.norm(moved))
        g = f if batch is None else g + (f - g) / min(t + 1, 7)
        lam = np.maximum(lam + 0.1 * g, 0.0)
        mean = mean + 4 / (t + 4) * (x - mean)
        np.testing.assert_allclose(run.state.x, x, atol=1e-12)
        np.testing.assert_allclose(run.x, mean, atol=1e-12)
        np.testing.assert_allclose(solver.output(run.state)[1], mu, atol=1e-12)
    assert outside > 0  # so the projection mattered


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("batch", [20, 200])
def test_the_defaults_come_close_on_mini_batches(loss, batch):
    """Without tuning, for small and large batches, with and without kinks; the bound is broken without it."""
    whole = fair(loss=loss)
    exact = solve(whole, tol=1e-5)
    free = LearningProblem.of(MODEL, bind([], DATA.y, loss=loss).terms, l2=1e-4)
    assert whole.at(solve(free, tol=1e-5).x).violation > 0.05
    run = Online(fair(batch, loss), StochasticLagrangian(), seed=1)
    for _ in range(2000):
        run.step()
    point = whole.at(run.x)
    assert point.violation <= 0.01
    assert abs(point.objective - exact.fun) <= 0.02


def test_the_certificate_of_a_run_on_mini_batches_is_of_all_rows():
    batches, whole = fair(batch=50), fair()
    result = solve(batches, StochasticLagrangian(), max_steps=300)
    np.testing.assert_array_equal(result.certificate.values, whole.at(result.x).values)


def test_parameters_have_limits():
    assert StochasticLagrangian(memory=1).memory == 1
    with pytest.raises(ValueError, match="StochasticLagrangian: `memory` must be an integer of at"):
        StochasticLagrangian(memory=0)
    for parameter in ("step_size", "penalty", "dual_step"):
        with pytest.raises(
            ValueError, match=f"StochasticLagrangian: `{parameter}` must be positive"
        ):
            StochasticLagrangian(**{parameter: 0.0})
