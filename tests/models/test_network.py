"""A network written as a Model: the same functions, gradients and products as autograd, no wrong facts."""

import numpy as np
import pytest

from equipoise import solve
from equipoise.models import Model, ModelPoint
from equipoise.problems import LearningProblem, check_problem
from equipoise.rows import MemorySums
from equipoise.terms import (
    Combination,
    FunctionOfScores,
    Hinge,
    Logistic,
    Rates,
    Sigmoid,
    SquaredGaps,
    Terms,
)

N, D, H = 50, 3, 4


class TwoLayers(Model):
    """Scores ``tanh(A W + b) c + c_0`` of the parameters ``x = (W, b, c, c_0)``."""

    def __init__(self, A):
        self.A, self.n_rows = A, len(A)
        self.dim = D * H + H + H + 1
        self.penalised = np.r_[np.ones(D * H), np.zeros(H), np.ones(H), 0.0]

    def parts(self, x):
        return x[: D * H].reshape(D, H), x[D * H : D * H + H], x[-H - 1 : -1], x[-1]

    def at(self, x):
        W, b, c, c_0 = self.parts(x)
        T = np.tanh(self.A @ W + b)
        S = 1 - T**2  # the slope of tanh

        def joined(dZ, dc, dc_0):
            return np.concatenate([(self.A.T @ dZ).ravel(), dZ.sum(axis=0), dc, [dc_0]])

        def pull(g):
            return joined(g[:, None] * S * c, T.T @ g, g.sum())

        def push(v):
            V, vb, vc, vc_0 = self.parts(v)
            return (S * (self.A @ V + vb)) @ c + T @ vc + vc_0

        def bend(g, v):
            """The derivative of `pull(g)` along `v`."""
            V, vb, vc, _ = self.parts(v)
            dT = S * (self.A @ V + vb)
            dZ = g[:, None] * (-2 * T * dT * c + S * vc)
            return joined(dZ, dT.T @ g, 0.0)

        return ModelPoint(T @ c + c_0, pull, push, bend)

    def rows(self, index):
        return TwoLayers(self.A[index])


class FirstOrder(TwoLayers):
    """The same without second derivatives."""

    def at(self, x):
        point = super().at(x)
        return ModelPoint(point.scores, point.pull)


def squared_mean(scores, y, groups):
    mean = float(scores.mean())
    slope = np.full(scores.shape, 2 * mean / scores.size)
    return mean**2 - 4.0, slope, lambda d: np.full(d.shape, 2 * d.mean() / scores.size)


def make(loss=None, model=TwoLayers, l2=0.1):
    rng = np.random.default_rng(0)
    A, women = rng.normal(size=(N, D)), rng.random(N) < 0.4
    sign = np.where(rng.random(N) < 0.5, 1, -1)
    rates = np.column_stack([women / women.sum(), ~women / (~women).sum()])
    sums = [Rates(loss or Logistic(), np.full((N, 1), 1 / N), sign), Rates(Sigmoid(2.0), rates)]
    gaps = SquaredGaps([[0.0, 1.0, -1.0]], [0.1])
    combination = Combination(
        [[1, 0, 0], [0, 1, -1], [0, -1, 1]], [0, -0.02, -0.02], bent=[(0, gaps)]
    )
    function = FunctionOfScores(squared_mean, np.zeros(N))
    own = Terms(function, Combination([[0.0], [1.0]], names=["mean"]))
    terms = Terms.joined([Terms(sums, combination), own])
    return LearningProblem.of(model(A), terms, l2=l2), (A, sign, rates)


def with_autograd(parts, x, l2=0.1):
    """All functions again, in torch: values, their Jacobian, and a Hessian product."""
    torch = pytest.importorskip("torch")
    A, sign, rates = (torch.tensor(np.asarray(p), dtype=torch.float64) for p in parts)

    def functions(x):
        W, b, c = x[: D * H].reshape(D, H), x[D * H : D * H + H], x[-H - 1 : -1]
        s = torch.tanh(A @ W + b) @ c + x[-1]
        r = rates.T @ torch.sigmoid(2.0 * s)
        gap = r[0] - r[1]
        loss = torch.log1p(torch.exp(-sign * s)).mean() + 0.5 * (gap + 0.1) ** 2
        loss = loss + 0.5 * l2 * ((W**2).sum() + (c**2).sum())
        return torch.stack([loss, gap - 0.02, -gap - 0.02, s.mean() ** 2 - 4.0])

    return functions, torch.tensor(x, dtype=torch.float64)


def test_values_gradients_and_products_are_those_of_autograd():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    problem, parts = make()
    x, v, w = rng.normal(size=problem.dim), rng.normal(size=problem.dim), rng.normal(size=4)
    point = problem.at(x)
    functions, tx = with_autograd(parts, x)
    np.testing.assert_allclose(point.values, functions(tx).numpy(), rtol=1e-12)
    J = torch.autograd.functional.jacobian(functions, tx).numpy()
    np.testing.assert_allclose([point.gradient(i) for i in range(4)], J, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        point.gradients([0, 3, 1, 2]), J[[0, 3, 1, 2]], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(point.vjp(w), w @ J, rtol=1e-9, atol=1e-12)
    weighted = torch.tensor(w)
    exact = torch.autograd.functional.hvp(
        lambda z: (weighted * functions(z)).sum(), tx, torch.tensor(v)
    )[1]
    np.testing.assert_allclose(point.hvp(w, v), exact.numpy(), rtol=1e-9, atol=1e-11)


def test_gradients_of_older_points_do_not_change():
    problem, _ = make()
    rng = np.random.default_rng(4)
    x, w, v = rng.normal(size=problem.dim), rng.normal(size=4), rng.normal(size=problem.dim)
    point = problem.at(x)
    gradient, product = point.vjp(w).copy(), point.hvp(w, v).copy()
    for _ in range(3):
        problem.at(rng.normal(size=problem.dim)).vjp(w)
    np.testing.assert_array_equal(point.vjp(w), gradient)
    np.testing.assert_array_equal(point.hvp(w, v), product)


@pytest.mark.parametrize("model", [TwoLayers, FirstOrder])
def test_no_fact_is_claimed_that_was_not_earned(model):
    facts = make(model=model)[0].facts
    assert facts.smooth
    assert facts.convex is None
    assert facts.convex_constraints is None
    assert facts.weak_convexity is None
    assert facts.smoothness is None
    assert facts.lipschitz is None
    assert facts.lower_bound == 0.0  # losses and squares are: the model does not matter


def test_without_second_derivatives_there_are_no_products():
    problem, _ = make(model=FirstOrder)
    x = np.random.default_rng(5).normal(size=problem.dim)
    point = problem.at(x)
    assert point.hvp is None
    assert point.curvature is None
    check_problem(problem, x).raise_if_wrong()


def test_kinks_are_not_looked_for_where_scores_are_not_linear():
    problem, _ = make(loss=Hinge())
    assert problem.facts.smooth is False
    assert problem.kinks(np.zeros(problem.dim), 0.1) is None
    assert isinstance(problem.rows, MemorySums)
    assert problem.rows.near_kinks(np.zeros(problem.dim), 0.1, 100) is None


@pytest.mark.parametrize("model", [TwoLayers, FirstOrder])
def test_a_network_can_be_trained_and_is_certified(model):
    problem, _ = make(model=model)
    start = 0.5 * np.random.default_rng(6).normal(size=problem.dim)
    result = solve(problem, x0=start, tol=1e-6)
    assert result.success
    assert result.certificate.violation <= 1e-6
    assert result.fun < problem.at(start).objective
