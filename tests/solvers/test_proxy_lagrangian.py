"""The proxy-Lagrangian game, its players, and its candidates."""

import math
import pickle

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Point, Problem, Status, sets, solve
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.problems._proxy import ProxyProblem
from equipoise.solvers import (
    AdditiveSwapRegret,
    Constant,
    ExternalRegret,
    InverseSqrt,
    ProxyLagrangian,
    SwapRegret,
)
from equipoise.solvers._proxy.candidates import best_candidate
from equipoise.solvers._proxy.players import normalised, stationary

PLAYERS = [SwapRegret(), AdditiveSwapRegret(), ExternalRegret()]


def states(problem, solver, x0, steps, seed=0):
    found = []
    result = solve(
        problem, solver, x0, max_steps=steps, seed=seed, callback=lambda it: found.append(it.state)
    )
    return found, result


def start(problem, seed):
    """A random point of the domain."""
    rng = np.random.default_rng(seed)
    if isinstance(problem.domain, sets.Box):
        lower, upper = problem.domain.lower, problem.domain.upper
        return lower + (upper - lower) * rng.random(problem.dim)
    return problem.domain.project(2 * rng.normal(size=problem.dim))


# --- the players --------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 5])
def test_t6_9_the_matrix_stays_stochastic_and_above_its_floor(m):
    player, rng = SwapRegret(), np.random.default_rng(m)
    play, floor, least = player.start(np.zeros(m)), 1e-3 / (m + 1), []
    for _ in range(300):
        lam = player.weights(play)
        np.testing.assert_allclose(play.sum(axis=0), 1.0, atol=1e-12)
        np.testing.assert_allclose(play @ lam, lam, atol=1e-12)
        assert lam.sum() == pytest.approx(1.0, abs=1e-12)
        assert play.min() >= floor * (1 - 1e-12)
        gain = np.append(0.0, rng.normal(size=m) * 10)
        play = player.learn(play, gain, lam, 1.0)
        least.append(play.min())
    assert min(least) == pytest.approx(floor, rel=1e-12)  # it is reached


@pytest.mark.parametrize("player", PLAYERS, ids=lambda p: type(p).__name__)
def test_the_first_weight_is_on_the_objective(player):
    lam = player.weights(player.start(np.zeros(3)))
    assert lam[0] >= 0.999
    assert lam.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(10))
def test_normalised_is_the_nearest_distribution_above_the_floor(seed):
    """The KKT conditions of the projection in relative entropy."""
    rng = np.random.default_rng(seed)
    logs, floor = rng.normal(size=6) * 4, 0.05
    p = normalised(logs, floor)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert p.min() >= floor - 1e-15
    ratio = np.log(p) - logs  # equal where above the floor, larger on it
    above = p > floor + 1e-12
    assert np.ptp(ratio[above]) <= 1e-9
    assert (ratio[~above] >= ratio[above].max() - 1e-9).all()


def test_normalised_works_column_by_column():
    logs = 5 * np.random.default_rng(0).normal(size=(30, 12))
    columns = [normalised(column, 1e-3) for column in logs.T]
    np.testing.assert_allclose(normalised(logs, 1e-3), np.array(columns).T, rtol=1e-13)


@pytest.mark.parametrize("n", [50, 300])
def test_the_stationary_distribution_of_many_states(n):
    """Fast and slow mixing, small (least squares) and large (Arnoldi)."""
    M = normalised(4 * np.random.default_rng(n).normal(size=(n, n)), 1e-3 / n)
    for matrix in (M, 0.01 * M + 0.99 * np.eye(n)):
        lam = stationary(matrix)
        assert lam.sum() == pytest.approx(1.0)
        assert (lam >= 0).all()
        np.testing.assert_allclose(matrix @ lam, lam, atol=1e-13)
        np.testing.assert_allclose(lam, stationary(M), rtol=1e-7)


def test_the_stationary_distribution_where_there_are_many():
    """Two closed classes of states: any mixture will do, a distribution it must be."""
    n = 150
    M = normalised(np.random.default_rng(0).normal(size=(n, n)), 1e-3 / n)
    apart = np.kron(np.eye(2), M)
    lam = stationary(apart)
    assert (lam >= 0).all()
    np.testing.assert_allclose(apart @ lam, lam, atol=1e-12)


def test_the_stationary_distribution_of_two_states():
    np.testing.assert_allclose(stationary(np.array([[0.9, 0.4], [0.1, 0.6]])), [0.8, 0.2])


def test_external_regret_is_one_column_of_swap_regret():
    """Where all columns are equal and lam is uniform, both learn the same column."""
    play, gain, lam = np.full(3, 1 / 3), np.array([0.0, 0.3, -0.2]), np.full(3, 1 / 3)
    matrix = SwapRegret().learn(np.repeat(play[:, None], 3, axis=1), gain, lam, 3.0)
    vector = ExternalRegret().learn(play, gain, lam, 1.0)
    for column in matrix.T:
        np.testing.assert_allclose(column, vector, rtol=1e-12)


def test_bad_floors():
    with pytest.raises(ValueError, match="SwapRegret: `floor` must be positive"):
        SwapRegret(0.0)
    with pytest.raises(ValueError, match="ExternalRegret: `floor` must lie between 0 and 1"):
        ExternalRegret(1.0)


# --- the method ---------------------------------------------------------------------------------


def test_naive_twin():
    """The box by hand on the AUC problem (two constraints), 50 steps."""
    reference = REFERENCES["auc"]()
    problem = reference.problem
    x = np.array([1.0, 0.5, -0.4])
    solver = ProxyLagrangian(step_size=InverseSqrt(0.3), weight_step=InverseSqrt(2.0))
    found, _ = states(problem, solver, x, 50)
    floor = 1e-3 / 3
    M = np.array([[1 - 2 * floor] * 3, [floor] * 3, [floor] * 3])
    for t in range(50):
        values, vectors = np.linalg.eig(M)
        lam = np.abs(np.real(vectors[:, np.argmin(np.abs(values - 1))]))
        lam = lam / lam.sum()
        gradients = [P @ x + q for P, q in zip(problem.P, problem.q)]
        g = [0.5 * x @ P @ x + q @ x + c for P, q, c in zip(problem.P, problem.q, problem.c)][1:]
        x = x - 0.3 / math.sqrt(t + 1) * sum(w * v for w, v in zip(lam, gradients))
        x = x * min(1.0, 2.0 / np.linalg.norm(x))
        M = M * np.exp(2.0 / math.sqrt(t + 1) * np.outer([0.0, *g], lam))
        for j in range(3):
            M[:, j] = normalised(np.log(M[:, j]), floor)
        np.testing.assert_allclose(found[t].x, x, atol=1e-12)
        np.testing.assert_allclose(found[t].play, M, atol=1e-11)


def test_no_constraints_is_projected_gradient():
    problem = QuadraticProblem(
        [[[2.0, 0.0], [0.0, 1.0]]], [[1.0, -3.0]], [0.0], sets.Box(-1.0, 1.0, dim=2)
    )
    found, _ = states(problem, ProxyLagrangian(step_size=Constant(0.2)), np.array([0.9, -0.9]), 30)
    x = np.array([0.9, -0.9])
    for state in found:
        x = np.clip(x - 0.2 * (np.array([2.0, 1.0]) * x + np.array([1.0, -3.0])), -1, 1)
        np.testing.assert_allclose(state.x, x, atol=1e-13)


@pytest.mark.parametrize("player", PLAYERS, ids=lambda p: type(p).__name__)
def test_t6_9_the_convex_problem(player):
    """Section 9.4 from (0, 2): the last iterate is (1, 0), and lam_1 / lam_0 is 1."""
    reference = REFERENCES["convex"]()
    # steps of external regret are not damped by lam: half of them is the same speed here
    tau = InverseSqrt(10.0) if isinstance(player, ExternalRegret) else InverseSqrt(20.0)
    solver = ProxyLagrangian(player=player, weight_step=tau)
    _, result = states(reference.problem, solver, reference.start, 6000)
    lam = player.weights(result.state.play)
    np.testing.assert_allclose(result.state.x, [1, 0], atol=5e-4)
    assert lam[1] / lam[0] == pytest.approx(1.0, abs=5e-4)
    assert result.certificate.residual <= 1e-2


def test_t6_9_the_steps_quoted_for_the_convex_problem():
    """0.5/sqrt(t+1) for both players gets there too, more slowly, from outside and with lam below 1."""
    reference = REFERENCES["convex"]()
    solver = ProxyLagrangian(step_size=InverseSqrt(0.5), weight_step=InverseSqrt(0.5))
    result = solve(reference.problem, solver, reference.start, max_steps=60_000)
    lam = solver.player.weights(result.state.play)
    assert lam[1] / lam[0] == pytest.approx(1.0, abs=5e-4)
    np.testing.assert_allclose(result.state.x, [1, 0], atol=5e-4)


@pytest.mark.parametrize("name", ["convex", "bilinear", "active", "auc", "simple"])
def test_defaults_from_random_starts(name):
    reference = REFERENCES[name]()
    for seed in range(20):
        x0 = start(reference.problem, seed)
        result = solve(reference.problem, ProxyLagrangian(), x0, max_steps=4000, tol=1e-2)
        assert result.success or "saddle" in result.message, (seed, result.message)
        assert result.certificate.residual <= 1e-2


@pytest.mark.parametrize("seed", range(4))
def test_infeasible_problems_never_succeed(seed):
    rng = np.random.default_rng(seed)
    P = np.zeros((3, 2, 2))
    P[0] = np.eye(2)
    q = [rng.normal(size=2), [1.0, 0.0], [-1.0, 0.0]]
    problem = QuadraticProblem(P, q, [0.0, 1.0, 0.5], sets.Box(-2.0, 2.0, dim=2))
    result = solve(problem, ProxyLagrangian(), rng.uniform(-2, 2, 2), max_steps=2000, tol=1e-2)
    assert result.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.NOT_FOUND)
    assert result.maxcv >= 0.75 - 1e-9


def test_the_output_is_the_best_candidate_of_the_whole_run():
    reference = REFERENCES["bilinear"]()
    solver = ProxyLagrangian(slack=0.0)
    x0 = np.array([0.9, 0.1])
    found, result = states(reference.problem, solver, x0, 400)
    iterates = np.array([x0, *(state.x for state in found[:-1])])
    table = np.array([reference.problem.at(x).values for x in iterates])
    best = best_candidate(table[:, 0], table[:, 1:])
    np.testing.assert_array_equal(result.x, iterates[best])


def test_of_equal_candidates_the_first_is_the_output():
    """The constraint moves the point, and is met everywhere; the objective is the same everywhere."""
    problem = FunctionProblem(
        lambda x: (3.0, 0.0 * x),
        [lambda x: (x[0] - 9.0, np.ones(1))],
        domain=sets.Box(-1, 1, dim=1),
    )
    solver = ProxyLagrangian(player=ExternalRegret())
    found, result = states(problem, solver, np.array([0.5]), 5)
    assert found[-1].x[0] < 0.5
    assert result.x[0] == 0.5


def test_snapshots_are_thinned_and_their_mixture_is_sparse():
    reference = REFERENCES["active"]()
    solver = ProxyLagrangian()
    found, result = states(reference.problem, solver, reference.start, 1500)
    sizes = [len(state.candidates.x) for state in found]
    assert max(sizes) == 64
    kept = result.state.candidates
    assert kept.every == 32
    iterates = [reference.start, *(state.x for state in found)]
    np.testing.assert_array_equal(kept.x, np.array(iterates[: 32 * len(kept.x) : 32]))
    points, p = solver.mixture(result.state)
    assert len(p) <= 2
    assert p.sum() == pytest.approx(1.0)
    values = np.array([reference.problem.at(x).values for x in points])
    assert p @ values[:, 1] <= 1e-9
    pickle.loads(pickle.dumps(result.state))


def threshold():
    """min x1^2 + x2^2 where x1 > 0.5 is meant, a step function, with surrogate 1 - 2 x1 <= 0.3."""
    surrogate = FunctionProblem(
        lambda x: (x @ x, 2 * x),
        [lambda x: (0.7 - 2 * x[0], np.array([-2.0, 0.0]))],
        domain=sets.Box(-2.0, 2.0, dim=2),
        facts=Facts(smooth=True, convex=True, smoothness=2.0),
    )
    return ProxyProblem(surrogate, lambda _, x: [0.5 if x[0] <= 0.5 else -0.5])


def test_fix_28_true_constraints_set_the_weights_and_surrogates_give_the_gradient():
    """One step by hand: the gradient is the surrogates', the gain the step function's."""
    problem = threshold()
    solver = ProxyLagrangian(step_size=Constant(0.1), weight_step=Constant(2.0))
    (first, second), _ = states(problem, solver, np.array([0.2, 1.0]), 2)
    low = 0.5e-3
    lam = np.array([1 - low, low])
    x = np.array([0.2, 1.0]) - 0.1 * (lam[0] * np.array([0.4, 2.0]) + lam[1] * np.array([-2.0, 0]))
    np.testing.assert_allclose(first.x, x, atol=1e-14)
    column = lam[:, None] * np.exp(2.0 * np.outer([0.0, 0.5], lam))
    np.testing.assert_allclose(first.play, column / column.sum(axis=0), atol=1e-14)
    assert second.play[1, 0] > first.play[1, 0]  # still 0.5 or less


def test_the_true_constraint_is_satisfied_where_the_surrogate_is_not_enough():
    """The surrogate alone would stop at x1 = 0.35; the game pushes on until the step is passed."""
    problem = threshold()
    _, result = states(problem, ProxyLagrangian(), np.array([-1.0, 1.0]), 3000)
    assert problem.true_values(problem.at(result.x))[0] <= 0
    assert result.x[0] == pytest.approx(0.5, abs=2e-2)
    assert abs(result.x[1]) <= 2e-2


class FiniteSum(Problem):
    """Mean of (x - a_i)^2 subject to mean of (b_i x) <= 0.3; batches of 5 terms of 60."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        self.dim, self.n_constraints = 1, 1
        self.domain, self.names = sets.Box(-3.0, 3.0, dim=1), ("mean",)
        self.facts = Facts(smooth=True, convex=True, smoothness=2.0, stochastic=True)

    def at(self, x):
        values = np.array([np.mean((x[0] - self.a) ** 2), np.mean(self.b) * x[0] - 0.3])
        rows = np.array([[2 * np.mean(x[0] - self.a)], [np.mean(self.b)]])
        return Point(x, values, lambda w: w @ rows)

    def sample(self, rng):
        i = rng.integers(0, 60, size=5)
        return FiniteSum(self.a[i], self.b[i])


def test_mini_batches():
    """Candidates are snapshots on the whole problem; here the solution is 0.3 / mean(b)."""
    rng = np.random.default_rng(5)
    problem = FiniteSum(1 + rng.normal(size=60), 1 + 0.3 * rng.normal(size=60))
    solution = 0.3 / problem.b.mean()
    _, result = states(problem, ProxyLagrangian(), np.array([2.0]), 4000, seed=3)
    kept = result.state.candidates
    assert len(kept.x) <= 64
    for x, values in zip(kept.x, kept.table):
        np.testing.assert_allclose(problem.at(x).values, values, rtol=1e-12)
    best = best_candidate(kept.table[:, 0], kept.table[:, 1:] - solver_slack())
    assert result.fun <= kept.table[best, 0]
    assert result.maxcv <= solver_slack()
    assert result.x[0] == pytest.approx(solution, abs=5e-2)
    again = solve(problem, ProxyLagrangian(), np.array([2.0]), max_steps=4000, seed=3)
    np.testing.assert_array_equal(again.x, result.x)


def test_the_first_snapshot_is_of_the_whole_problem():
    rng = np.random.default_rng(5)
    problem = FiniteSum(1 + rng.normal(size=60), 1 + 0.3 * rng.normal(size=60))
    solver, x0 = ProxyLagrangian(), np.array([2.0])
    first = solver.init(problem, x0).candidates
    assert first.values.tolist() == [np.inf, np.inf]
    kept = solver.step(problem, solver.init(problem, x0), 0, rng).candidates
    np.testing.assert_array_equal(kept.table, [problem.at(x0).values])
    np.testing.assert_array_equal(kept.values, problem.at(x0).values)


def solver_slack():
    return ProxyLagrangian().slack


def test_bad_parameters_and_bad_true_constraints():
    with pytest.raises(ValueError, match="ProxyLagrangian: `slack` must be non-negative"):
        ProxyLagrangian(slack=-1.0)
    with pytest.raises(ValueError, match="ProxyLagrangian: `player` must be a Player"):
        ProxyLagrangian(player="swap")
    with pytest.raises(ValueError, match="ProxyProblem: `true_constraints` must be callable"):
        ProxyProblem(threshold().surrogate, 3.0)
    wrong = ProxyProblem(threshold().surrogate, lambda _, x: [1.0, 2.0])
    with pytest.raises(ValueError, match=r"`true_constraints` must have shape \(1,\)"):
        solve(wrong, ProxyLagrangian(), np.zeros(2), max_steps=1)
