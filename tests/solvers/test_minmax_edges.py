"""Steps of the min-max methods, each against its numbered lines or a rule from both sides."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from equipoise import FunctionProblem, sets
from equipoise.problems._merit import Maximum, MeritProblem
from equipoise.solvers import MinMaxProxLinear, MinMaxSubgradient, ProximalBundle
from equipoise.solvers._minmax import prox_linear, proximal_bundle
from equipoise.solvers._minmax.linearised_maximum import LinearisedMaximum
from equipoise.solvers._minmax.minmax import Bracket, lowest

BOX = sets.Box(-2, 2, dim=2)


def problem(level=0.3, domain=BOX):
    base = FunctionProblem(
        lambda x: (abs(x[0]) + 2 * x[1] ** 2, np.array([np.sign(x[0]), 4 * x[1]])),
        [lambda x: (x[0] - x[1] + 0.5, np.array([1.0, -1.0]))],
        domain=domain,
    )
    return MeritProblem(base, Maximum(level))


# ------------------------------------------------------------------ subgradients


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("x", [[0.7, 1.1], [1.5, -0.4]])
def test_a_step_of_subgradients_for_the_largest(mu, x):
    method, merit = MinMaxSubgradient(mu=mu), problem()
    state = method.init(merit, np.array([0.1, 0.2]))
    assert (state.total, state.height, state.steepest) == (0.0, 0.0, 0.0)
    first = Bracket(np.zeros(2), 1.9, -9.0, np.array([0.5, 0.5]), 3)
    state = replace(
        state,
        bracket=first,
        x=np.array(x),
        mean=np.array([0.3, -0.2]),
        slope=np.array([0.6, 0.4]),
        height=0.8,
        weights=np.array([0.25, 0.75]),
        total=1.7,
        steepest=1.9,
    )
    after = method.step(merit, state, 0, None)
    values = merit.base.at(state.x).values - np.array([0.3, 0.0])
    i, P = int(values.argmax()), values.max()
    g = merit.base.at(state.x).gradient(i)
    steepest = max(1.9, np.linalg.norm(g))
    eta = 2 / (mu * 5) if mu else math.sqrt(32.0) / (steepest * 2.0)
    share = 4.0 if mu else eta
    total = 1.7 + share
    a = share / total
    mean = (1 - a) * state.mean + a * state.x
    slope = (1 - a) * state.slope + a * g
    height = (1 - a) * 0.8 + a * (P - g @ state.x + 0.5 * mu * state.x @ state.x)
    lower = height + slope @ mean - 0.5 * mu * mean @ mean + lowest(BOX, mean, slope, mu)
    np.testing.assert_allclose(after.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(after.slope, slope, rtol=1e-12)
    np.testing.assert_allclose(after.weights, (1 - a) * state.weights + a * np.eye(2)[i])
    np.testing.assert_allclose(after.x, np.clip(state.x - eta * g, -2, 2), rtol=1e-12)
    assert (after.height, after.total, after.steepest) == pytest.approx((height, total, steepest))
    assert lower > first.lower
    assert after.bracket.lower == pytest.approx(lower, rel=1e-12)
    assert after.bracket.upper == min(P, 1.9)
    assert after.bracket.steps == 4


def test_subgradients_of_a_constant_stay():
    base = FunctionProblem(lambda x: (3.0, np.zeros(2)), domain=BOX)
    method, merit = MinMaxSubgradient(), MeritProblem(base, Maximum(0.0))
    after = method.step(merit, method.init(merit, np.ones(2)), 0, None)
    assert after.x.tolist() == [1.0, 1.0]
    assert after.bracket.lower == pytest.approx(3.0)


# ------------------------------------------------------------------ the dual


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_of_linear_functions_is_minimised(seed):
    """Against the same program with one more variable, by another solver."""
    rng = np.random.default_rng(seed)
    n, d, L = 5, 3, 1.7
    J, p, v = rng.normal(size=(n, d)), rng.normal(size=n), rng.uniform(-1, 1, d)
    domain = sets.Box(-1.2, 1.2, dim=d) if seed % 2 else sets.L2Ball(1.1)
    v = domain.project(v)
    w0 = np.zeros(n)
    w0[seed % n] = 1.0
    model = LinearisedMaximum(domain, v, p, lambda i: J[i], w0)
    assert model.members == list(dict.fromkeys([seed % n, int(p.argmax())]))
    for i in range(n):
        model.add(i)
    assert not model.add(0)
    y, value = model.solve(L)
    inside = [{"type": "ineq", "fun": lambda z: 1.1**2 - z[:d] @ z[:d]}] if seed % 2 == 0 else []
    bounds = [(-1.2, 1.2)] * d if seed % 2 else [(None, None)] * d
    rows = {"type": "ineq", "fun": lambda z: z[d] - p - J @ (z[:d] - v)}
    found = minimize(
        lambda z: z[d] + 0.5 * L * (z[:d] - v) @ (z[:d] - v),
        np.append(v, p.max()),
        constraints=[rows, *inside],
        bounds=[*bounds, (None, None)],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    exact = (p + J @ (y - v)).max() + 0.5 * L * (y - v) @ (y - v)
    assert value == pytest.approx(exact, rel=1e-12)
    assert value <= found.fun + 2e-4 * (0.5 * L * (y - v) @ (y - v)) + 1e-7
    assert value >= found.fun - 1e-7
    assert model.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (model.weights >= 0).all()


def test_the_dual_of_two_functions_by_hand():
    """``max(1 + y_0, -y_0) + y^2`` on the line around 0: the weights are 3/4 and 1/4, and y is -1/4."""
    J, p = np.array([[1.0], [-1.0]]), np.array([1.0, 0.0])
    w = np.array([0.9, 0.1])
    model = LinearisedMaximum(sets.WholeSpace(), np.zeros(1), p, lambda i: J[i], w)
    y, q, dual = model._dual(np.array([0.9, 0.1]), 2.0)
    assert y[0] == pytest.approx(-0.4)
    np.testing.assert_allclose(q, [0.6, 0.4])
    assert dual == pytest.approx(0.54 + 0.04 + 0.16)
    np.testing.assert_allclose(model._newton(q, y, 2.0), [1.0, 0.0], atol=1e-6)
    y, value = model.solve(2.0)
    np.testing.assert_allclose(model.w, [1.0, 0.0], atol=1e-6)
    assert (y[0], value) == pytest.approx((-0.5, 0.75))
    y, value = model.solve(4.0)
    assert (y[0], value) == pytest.approx((-0.25, 0.875))
    y, value = model.solve(1.0)
    np.testing.assert_allclose(model.w, [0.75, 0.25], atol=1e-4)
    assert (y[0], value) == pytest.approx((-0.5, 0.625), rel=1e-3)


def test_newton_steps_of_the_dual_maximise_its_model():
    rng = np.random.default_rng(8)
    J, p = rng.normal(size=(4, 6)), rng.normal(size=4)
    w = np.array([0.4, 0.3, 0.2, 0.1])
    model = LinearisedMaximum(sets.WholeSpace(), np.zeros(6), p, lambda i: J[i], w)
    L = 1.3
    y, q, dual = model._dual(w, L)
    np.testing.assert_allclose(y, -(w @ J) / L, rtol=1e-12)
    assert dual == pytest.approx(w @ q + 0.5 * L * y @ y)
    u = model._newton(q, y, L)
    H = J @ J.T / L  # exact, so the model is the dual itself
    for other in rng.dirichlet(np.ones(4), 200):
        assert model._dual(u, L)[2] >= model._dual(other, L)[2] - 1e-9
    slope = q - H @ (u - w)
    assert slope[u > 1e-9].min() >= slope.max() - 1e-6


# ------------------------------------------------------------------ the bundle


class Scripted:
    """Stands for the regularised model: it ends where it is told, with equal weights."""

    y, calls = None, ()

    def __init__(self, domain, v, values, gradients, weights):
        self.n, self.values = values.size, values
        self.calls.append((v, values, gradients(np.arange(values.size)), weights))

    def solve(self, L):
        self.calls.append(L)
        return self.y, 0.0

    def add(self, i):
        self.calls.append(i)
        return False

    @property
    def weights(self):
        return np.full(self.n, 1 / self.n)


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setattr(proximal_bundle, "LinearisedMaximum", Scripted)
    monkeypatch.setattr(Scripted, "calls", [])

    def run(y, upper, slope=-1.0, P=None, g=0.25):
        """One step from 0 with the planes ``upper + slope y`` and ``upper - 1 - y`` on a line."""
        base = FunctionProblem(
            lambda x: (upper if x[0] == 0 else P, np.array([g])),
            domain=sets.Box(-9, 9, dim=1),
        )
        merit = MeritProblem(base, Maximum(0.0))
        method = ProximalBundle()
        state = method.init(merit, np.zeros(1))
        state = replace(
            state,
            slopes=np.array([[slope], [-1.0]]),
            offsets=np.array([upper, upper - 1.0]),
            owners=np.array([0, 0]),
            weights=np.array([1.0, 0.0]),
            L=4.0,
        )
        monkeypatch.setattr(Scripted, "y", np.array([y]))
        return method.step(merit, state, 0, None)

    return run


@pytest.mark.parametrize(("P", "L", "moves"), [(2.949, 2.0, True), (2.951, 4.0, False)])
def test_the_centre_moves_where_a_tenth_of_the_fall_is_kept(P, L, moves, scripted):
    """From 3 at 0, the planes promise 2.5 at 0.5."""
    after = scripted(0.5, 3.0, P=P)
    assert after.bracket.x[0] == (0.5 if moves else 0.0)
    assert after.bracket.upper == (P if moves else 3.0)
    assert after.L == L
    np.testing.assert_allclose(after.slopes[-1], [0.25])
    assert after.offsets[-1] == pytest.approx(P - 0.25 * 0.5)
    assert after.owners.tolist() == [0, 0, 0]
    assert after.weights.tolist() == [0.5, 0.5, 0.0]
    slope = -1.0
    lower = 0.5 * (3.0 + 2.0) + lowest(sets.Box(-9, 9, dim=1), np.zeros(1), np.array([slope]), 0.0)
    assert after.bracket.lower == pytest.approx(lower)
    assert not after.bracket.stuck
    assert after.bracket.steps == 1


@pytest.mark.parametrize(("g", "L"), [(0.9, 4.0), (1.0, 4.0), (1.1, 8.0)])
def test_a_new_plane_that_misses_the_centre_doubles_the_regularisation(g, L, scripted):
    """The new plane has the height ``3 - g / 2`` at the centre, where 2.5 was promised."""
    after = scripted(0.5, 3.0, P=3.0, g=g)
    assert after.L == L
    assert after.bracket.x[0] == 0.0


def test_a_model_that_promises_nothing_is_stuck(scripted):
    assert scripted(0.0, 3.0, P=3.0).bracket.stuck
    assert scripted(0.5, 3.0, slope=1.0, P=3.5).bracket.stuck
    assert not scripted(1e-14, 3.0, P=3.0).bracket.stuck
    size = 2.0**10  # of which 1e-15 is more than of 1; at 2^-43 the planes promise that much
    assert scripted(2.0**-43, size, P=size).bracket.stuck
    assert not scripted(2.0**-39, size, P=size).bracket.stuck


def test_planes_without_weight_are_dropped_where_there_are_many(monkeypatch):
    monkeypatch.setattr(proximal_bundle, "MAX_PLANES", 3)
    bracket = Bracket(np.zeros(1), 0.0, 0.0, np.ones(1))
    planes = proximal_bundle.Planes(
        bracket, np.array([[1.0], [2.0]]), np.array([3.0, 4.0]), np.array([0, 1]), np.zeros(2), 1.0
    )
    more = planes.joined(np.array([0.5, 0.5]), 1, np.array([7.0]), 8.0, bracket, 2.0)
    assert more.slopes.ravel().tolist() == [1.0, 2.0, 7.0]
    fewer = more.joined(np.array([0.5, 0.0, 0.5]), 0, np.array([9.0]), 6.0, bracket, 2.0)
    assert fewer.slopes.ravel().tolist() == [1.0, 7.0, 9.0]
    assert fewer.offsets.tolist() == [3.0, 8.0, 6.0]
    assert fewer.owners.tolist() == [0, 1, 0]
    assert fewer.weights.tolist() == [0.5, 0.5, 0.0]
    assert fewer.L == 2.0


def test_the_first_plane_touches_the_largest_function():
    merit = problem()
    state = ProximalBundle().init(merit, np.array([0.7, 1.1]))
    values = merit.base.at(np.array([0.7, 1.1])).values - [0.3, 0.0]
    assert state.bracket.upper == values.max()
    np.testing.assert_allclose(state.slopes, [[1.0, 4.4]])
    assert state.offsets[0] == pytest.approx(values[0] - 0.7 - 4.4 * 1.1)
    assert pytest.approx(math.hypot(1.0, 4.4)) == state.L
    gentle = FunctionProblem(lambda x: (0.25 * x[0], np.array([0.25, 0.0])), domain=BOX)
    assert ProximalBundle().init(MeritProblem(gentle, Maximum(0.0)), np.zeros(2)).L == 1.0


# ------------------------------------------------------------------ prox-linear


@pytest.mark.parametrize("run", [0, 4])
def test_prox_linear_steps_are_taken_from_the_point_ahead(run, monkeypatch):
    seen = []

    class Model(LinearisedMaximum):
        def __init__(self, domain, v, *others):
            seen.append(v)
            super().__init__(domain, v, *others)

        def solve(self, L):
            seen.append(L)
            return super().solve(L)

    monkeypatch.setattr(prox_linear, "LinearisedMaximum", Model)
    method, merit = MinMaxProxLinear(), problem()
    state = method.init(merit, np.array([0.7, 0.4]))
    assert (state.L, state.run) == (1.0, 0)
    state = replace(state, previous=np.array([0.9, 0.8]), run=run, L=20.0)
    after = method.step(merit, state, 0, None)
    share = run / (run + 3)
    np.testing.assert_allclose(seen[0], [0.7 - 0.2 * share, 0.4 - 0.4 * share])
    assert seen[1] == pytest.approx(prox_linear.LOWER_L * 20.0)
    assert after.bracket.upper < state.bracket.upper
    assert after.run == run + 1
    assert after.previous.tolist() == [0.7, 0.4]
    assert seen[-1] == after.L


@pytest.mark.parametrize(("run", "stuck"), [(0, True), (3, False)])
def test_a_step_that_gains_nothing_is_a_restart_or_the_end(run, stuck):
    base = FunctionProblem(lambda x: (float(x @ x), 2 * x), domain=BOX)
    method, merit = MinMaxProxLinear(), MeritProblem(base, Maximum(0.0))
    state = replace(method.init(merit, np.zeros(2)), run=run, previous=np.zeros(2))
    after = method.step(merit, state, 0, None)
    assert (after.run, after.bracket.stuck, after.bracket.steps) == (0, stuck, 1)
    assert after.bracket.lower == pytest.approx(0.0, abs=1e-12)


def test_the_curvature_is_doubled_until_the_model_lies_above():
    """Of ``8 x^2`` the curvature is 16: from 1 (0.7 of it at first) it takes 0.7, 1.4, ..., 22.4."""
    base = FunctionProblem(lambda x: (8 * float(x @ x), 16 * x), domain=BOX)
    method, merit = MinMaxProxLinear(), MeritProblem(base, Maximum(0.0))
    after = method.step(merit, method.init(merit, np.array([0.01, 0.0])), 0, None)
    assert pytest.approx(22.4) == after.L
    lower = 8e-4 + lowest(BOX, np.array([0.01, 0.0]), np.array([0.16, 0.0]), 0.0)
    assert after.bracket.lower == pytest.approx(lower, rel=1e-6)
