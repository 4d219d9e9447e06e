"""Solvers around solvers."""

import pickle

import numpy as np
import pytest

from equipoise import Checkpoint, Facts, Point, Problem, Status, certify, sets, solve
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.solvers import (
    Averaged,
    BestCertified,
    Constant,
    FeasibilityPhase,
    InverseSqrt,
    LevelSet,
    ProxyLagrangian,
    Restarted,
    SwitchingSubgradient,
    UnsuitableSolverError,
)

WRAPPERS = [BestCertified, Averaged, Restarted]


def outputs(problem, solver, x0, steps):
    """The solver's output after every step."""
    found = []
    result = solve(
        problem,
        solver,
        x0,
        max_steps=steps,
        callback=lambda it: found.append(it.solver.output(it.state)),
    )
    return found, result


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_guarantee_and_needs_are_those_of_the_solver(wrapper):
    solver = wrapper(LevelSet())
    assert solver.guarantee is LevelSet.guarantee
    assert solver.needs is LevelSet.needs
    with pytest.raises(UnsuitableSolverError, match="needs a convex problem"):
        solve(REFERENCES["active"]().problem, solver, np.array([2.0, 0.2]))


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("name", ["convex", "active", "bilinear"])
def test_wrapped_switching_reaches_the_certificate(wrapper, name):
    reference = REFERENCES[name]()
    solver = wrapper(SwitchingSubgradient())
    x0 = reference.start.copy()
    result = solve(reference.problem, solver, x0, max_steps=6000, tol=1e-2)
    assert result.success, result.message
    np.testing.assert_array_equal(x0, reference.start)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_checkpoint_continues_bit_for_bit(wrapper, tmp_path):
    reference = REFERENCES["active"]()
    solver = wrapper(ProxyLagrangian())
    whole = solve(reference.problem, solver, reference.start, max_steps=300)
    path = Checkpoint(tmp_path / "run")
    solve(reference.problem, solver, reference.start, max_steps=130, checkpoint=path)
    resumed = solve(reference.problem, solver, reference.start, max_steps=300, checkpoint=path)
    np.testing.assert_array_equal(whole.x, resumed.x)
    pickle.loads(pickle.dumps(whole.state))


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapped_feasibility_phase_returns_a_feasible_point(wrapper):
    """The verdict is about the solver's own output, so that is what comes back."""
    problem = QuadraticProblem(
        [np.eye(2), 2 * np.eye(2)],
        [[0.0, 9.0], [0.0, 0.0]],
        [0.0, -1.0],
        sets.Box(-3.0, 3.0, dim=2),
    )
    solver = wrapper(FeasibilityPhase(), **({"every": 1} if wrapper is BestCertified else {}))
    result = solve(problem, solver, np.array([2.5, -2.0]), max_steps=500)
    assert result.status is Status.FEASIBLE
    assert result.maxcv == 0.0


# --- BestCertified ------------------------------------------------------------------------------


def test_best_certified_keeps_the_least_residual():
    """The last iterate circles on this problem; the best output examined does not get worse."""
    reference = REFERENCES["bilinear"]()
    problem, inner = reference.problem, SwitchingSubgradient(step_size=Constant(0.2))
    plain, _ = outputs(problem, inner, reference.start, 200)
    best, result = outputs(problem, BestCertified(inner, every=7), reference.start, 200)
    examined = [certify(problem, x).residual for x, _ in plain[6::7]]
    for t in range(7, 201):
        least = min(examined[: t // 7])
        assert certify(problem, best[t - 1][0]).residual == pytest.approx(least, abs=1e-12)
    assert result.certificate.residual < certify(problem, plain[-1][0]).residual
    np.testing.assert_array_equal(best[3][0], plain[3][0])  # before the first examination


def test_best_certified_examines_when_the_solver_stops():
    """Its stop comes long before the next examination is due."""
    reference = REFERENCES["convex"]()
    solver = BestCertified(LevelSet(), every=10_000)
    result = solve(reference.problem, solver, reference.start, max_steps=2000)
    assert result.status is Status.STALLED
    assert result.state.residual <= 1e-7
    assert result.state.residual == pytest.approx(result.certificate.residual, abs=1e-12)


def test_best_certified_uses_given_multipliers_where_they_prove_more():
    """Far inside, fitting sees no active constraint; both ways are tried."""
    reference = REFERENCES["convex"]()
    _, result = outputs(
        reference.problem, BestCertified(ProxyLagrangian(), every=5), reference.start, 400
    )
    given = certify(reference.problem, result.state.x, result.state.multipliers)
    assert given.residual == pytest.approx(result.state.residual, abs=1e-15)
    assert given.residual <= certify(reference.problem, result.state.x).residual + 1e-12


# --- Averaged -----------------------------------------------------------------------------------


def test_the_average_is_over_the_epochs_it_says():
    """Naive twin: after step s = 2^k + j, the mean of the outputs from step 2^(k-1) on."""
    reference = REFERENCES["auc"]()
    inner = ProxyLagrangian(weight_step=InverseSqrt(1.0))
    x0 = np.array([0.8, 0.2, -0.5])
    plain, _ = outputs(reference.problem, inner, x0, 70)
    averaged, _ = outputs(reference.problem, Averaged(inner), x0, 70)
    for s in range(1, 71):
        first = 2 ** (int(np.log2(s)) - 1) if s > 1 else 1
        window = plain[first - 1 : s]
        assert s / 2 <= len(window) <= max(1, 3 * s / 4 + 1)
        np.testing.assert_allclose(
            averaged[s - 1][0], np.mean([x for x, _ in window], axis=0), atol=1e-12
        )
        np.testing.assert_allclose(
            averaged[s - 1][1], np.mean([lam for _, lam in window], axis=0), atol=1e-12
        )


class Noisy(Problem):
    """min |x - (2, 0)|^2 s.t. |x|^2 <= 1 with noisy gradients: the convex reference, sampled."""

    def __init__(self, shift=0.0):
        self.shift = shift
        self.dim, self.n_constraints = 2, 1
        self.domain, self.names = sets.Box(-3.0, 3.0, dim=2), ("disc",)
        self.facts = Facts(smooth=True, convex=True, stochastic=True)

    def at(self, x):
        target = np.array([2.0, 0.0]) + self.shift
        values = np.array([(x - target) @ (x - target), x @ x - 1])
        rows = np.array([2 * (x - target), 2 * x])
        return Point(x, values, lambda w: w @ rows)

    def sample(self, rng):
        return Noisy(rng.normal(size=2))


def test_averages_of_noisy_steps_are_nearer():
    inner = SwitchingSubgradient(step_size=InverseSqrt(0.3))
    errors = {"last": [], "mean": []}
    for seed in range(5):
        for label, solver in (("last", inner), ("mean", Averaged(inner))):
            result = solve(Noisy(), solver, np.array([0.0, 2.0]), max_steps=2000, seed=seed)
            errors[label].append(np.linalg.norm(result.x - [1, 0]))
    assert np.mean(errors["mean"]) < 0.5 * np.mean(errors["last"])


# --- Restarted ----------------------------------------------------------------------------------


def test_restarts_by_hand():
    """Rounds of 4, 8 and 16 steps, each from the last output with its count at 0."""
    reference = REFERENCES["active"]()
    inner = SwitchingSubgradient()
    found, _ = outputs(reference.problem, Restarted(inner, every=4), reference.start, 28)
    x, expected, rng = reference.start, [], np.random.default_rng(0)
    for length in (4, 8, 16):
        state = inner.init(reference.problem, x)
        for k in range(length):
            state = inner.step(reference.problem, state, k, rng)
            expected.append(inner.output(state)[0])
        x = expected[-1]
    np.testing.assert_array_equal([x for x, _ in found], expected)


def test_one_long_round_is_the_solver_itself():
    reference = REFERENCES["active"]()
    plain, _ = outputs(reference.problem, SwitchingSubgradient(), reference.start, 50)
    round_, _ = outputs(
        reference.problem, Restarted(SwitchingSubgradient(), every=1000), reference.start, 50
    )
    np.testing.assert_array_equal([x for x, _ in round_], [x for x, _ in plain])


def test_wrappers_nest():
    reference = REFERENCES["convex"]()
    solver = BestCertified(Restarted(Averaged(SwitchingSubgradient()), every=50), every=10)
    result = solve(reference.problem, solver, reference.start, max_steps=4000, tol=1e-2)
    assert result.success


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BestCertified("switching"), "BestCertified: `solver` must be a Solver"),
        (lambda: Averaged(SwitchingSubgradient), "Averaged: `solver` must be a Solver"),
        (lambda: BestCertified(LevelSet(), every=0), "BestCertified: `every` must be an integer"),
        (lambda: Restarted(LevelSet(), every=0), "Restarted: `every` must be an integer"),
        (lambda: Restarted(LevelSet(), growth=0.5), "Restarted: `growth` must be at least 1"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()
