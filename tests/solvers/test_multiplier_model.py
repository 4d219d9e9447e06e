"""The multiplier model: its network, its steps, its candidates."""

import numpy as np
import pytest

from equipoise import FunctionProblem, sets, solve
from equipoise.problems import REFERENCES, ProxyProblem
from equipoise.solvers import MultiplierModel
from equipoise.solvers._multiplier_model.network import MultiplierNetwork
from equipoise.solvers._proxy.candidates import best_candidate


def many(m=6, d=3, seed=0):
    """A quadratic under m linear constraints, and features of these."""
    rng = np.random.default_rng(seed)
    A, target = rng.normal(size=(m, d)), 3 * rng.normal(size=d)
    problem = FunctionProblem(
        lambda x: (0.5 * (x - target) @ (x - target), x - target),
        [lambda x, a=a: (a @ x - 0.5, a) for a in A],
        domain=sets.L2Ball(2.0, np.zeros(d)),
    )
    return problem, A


def states(problem, solver, x0, steps, seed=0):
    found = []
    solve(problem, solver, x0, max_steps=steps, seed=seed, callback=lambda it: found.append(it))
    return [iteration.state for iteration in found]


@pytest.mark.parametrize("hidden", [(), (5,), (4, 3), (4, 3, 2)])
def test_the_gradient_of_the_network_is_that_of_its_output(hidden):
    network, rng = MultiplierNetwork((3, *hidden, 1)), np.random.default_rng(1)
    phi, features = network.start(rng) + 0.1 * rng.normal(size=network.dim), rng.normal(size=3)
    value, slope = network.gradient(phi, features)
    assert value == pytest.approx(network.at(phi, features[None])[0], abs=1e-14)
    for i in range(network.dim):
        step = 1e-6 * np.eye(1, network.dim, i)[0]
        rise = network.at(phi + step, features[None]) - network.at(phi - step, features[None])
        assert slope[i] == pytest.approx(rise[0] / 2e-6, abs=1e-7)


def test_without_features_there_is_one_common_multiplier():
    network = MultiplierNetwork((0, 1))
    phi = network.start(np.random.default_rng(0))
    np.testing.assert_array_equal(phi, [1.0])
    np.testing.assert_array_equal(network.at(3 * phi, np.empty((4, 0))), [3.0] * 4)
    assert network.gradient(phi, np.empty(0)) == (1.0, np.ones(1))


def test_t5_9_a_constant_network_is_plain_dual_ascent():
    """lam <- |lam + step scale g_i(x)|, i the constraint drawn."""
    problem, A = many()
    solver = MultiplierModel(adaptive=False, step_size=0.02, scale=3.0)
    found = states(problem, solver, np.zeros(3), 200, seed=4)
    rng, x, lam, flips = np.random.default_rng(4), np.zeros(3), 1.0, 0
    for state in found:
        point = problem.at(x)
        i = int(rng.integers(6))
        x = problem.domain.project(x - 0.02 * (point.gradient(0) + lam * A[i]))
        raw = lam + 0.02 * 3.0 * point.constraints[i]
        flips += raw < 0
        lam = abs(raw)
        np.testing.assert_allclose(state.x, x, atol=1e-12)
        assert abs(state.phi[0]) == pytest.approx(lam, abs=1e-12)
    assert flips > 0  # so the absolute value mattered


def test_a_naive_twin():
    """Fifty steps of Adagrad on all parameters, written without the library's network."""
    problem, A = many(m=4)
    features = A[:, :2]
    solver = MultiplierModel(features=features, hidden=(3,), scale=2.0)
    found = states(problem, solver, np.zeros(3), 50, seed=2)
    rng = np.random.default_rng(2)
    first, last = np.sqrt(6 / 5), np.sqrt(6 / 4)
    W, b = rng.uniform(-first, first, 6).reshape(2, 3), np.zeros(3)
    v, c = rng.uniform(-last, last, 3), 1.0
    theta, squares = [np.zeros(3), W, b, v, np.array(c)], [0.1] * 5
    for state in found:
        x, W, b, v, c = theta
        point, i = problem.at(x), int(rng.integers(4))
        h = features[i] @ W + b
        active = h > 0
        out = np.maximum(h, 0) @ v + c
        rise = 2.0 * point.constraints[i] * np.sign(out)
        gradients = [
            point.gradient(0) + abs(out) * A[i],
            -rise * np.outer(features[i], v * active),
            -rise * v * active,
            -rise * np.maximum(h, 0),
            np.array(-rise),
        ]
        squares = [s + g**2 for s, g in zip(squares, gradients)]
        theta = [p - 0.1 * g / (np.sqrt(s) + 1e-7) for p, g, s in zip(theta, gradients, squares)]
        theta[0] = problem.domain.project(theta[0])
        np.testing.assert_allclose(state.x, theta[0], atol=1e-12)
        flat = np.concatenate([np.ravel(part) for part in theta[1:]])
        np.testing.assert_allclose(state.phi, flat, atol=1e-12)


def test_the_output_is_the_best_candidate_by_true_constraints():
    surrogate, _ = many()

    def true_constraints(problem, x):
        return np.round(problem.at(x).constraints, 1)

    problem = ProxyProblem(surrogate, true_constraints)
    first = np.array([1.0, -1.0, 1.0])
    found = states(problem, MultiplierModel(every=5), first, 61)
    iterates = [first, *(state.x for state in found)][:61:5]
    points = [surrogate.at(x) for x in iterates]
    violations = [true_constraints(surrogate, x) for x in iterates]
    best = best_candidate([point.objective for point in points], violations)
    assert best > 0
    np.testing.assert_array_equal(found[-1].best, iterates[best])


def test_multipliers_are_those_whose_lagrangian_is_descended_on_average():
    problem, A = many()
    found = states(problem, MultiplierModel(features=A, hidden=(4,), every=1), np.zeros(3), 30)
    network = MultiplierNetwork((3, 4, 1))
    better = [(old, new) for old, new in zip(found, found[1:]) if new.score != old.score]
    assert len(better) > 1
    for before, after in better:
        expected = np.abs(network.at(before.phi, A)) / 6
        np.testing.assert_allclose(after.multipliers, expected)


def test_many_constraints_with_one_network_come_close_to_the_solution():
    problem, A = many(m=40, seed=3)
    exact = solve(problem, tol=1e-8)
    assert exact.success
    found = solve(problem, MultiplierModel(features=A, every=20), max_steps=20_000)
    assert found.maxcv <= 0.02
    assert abs(found.fun - exact.fun) <= 0.05 * abs(exact.fun)


def test_features_must_fit():
    problem, A = many()
    with pytest.raises(ValueError, match="`features` must have one row for each of the 6"):
        solve(problem, MultiplierModel(features=A[:4]))


def test_a_problem_without_constraints_is_descended():
    problem = REFERENCES["convex"]().problem
    free = FunctionProblem(
        lambda x: (problem.at(x).objective, problem.at(x).gradient(0)), domain=problem.domain
    )
    found = solve(free, MultiplierModel(every=10), [0.0, 1.0], max_steps=3000)
    np.testing.assert_allclose(found.x, [2.0, 0.0], atol=1e-2)
