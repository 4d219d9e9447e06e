"""Warm starts: what a run on one problem gives to the next, for every registered method and wrapper."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from equipoise import Problem, solve
from equipoise.problems import REFERENCES
from equipoise.solvers import (
    IQRC,
    SOLVERS,
    AugmentedLagrangian,
    AugmentedNewton,
    Averaged,
    BestCertified,
    ConEx,
    Restarted,
    Sequence,
    Solver,
    SwitchingSubgradient,
)
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._parts.warm_start import Guess

USES = [name for name in SOLVERS if type(SOLVERS[name]()).warm_started is not Solver.warm_started]
NO_MULTIPLIERS = {"iqrc", "ipp_ssg"}  # their default oracle has none to start from


class Shifted(Problem):
    """A similar problem: every constraint is a little tighter or looser."""

    def __init__(self, base, shift):
        self.base, self.shift = base, shift
        self.dim, self.n_constraints, self.domain = base.dim, base.n_constraints, base.domain
        self.names, self.facts = base.names, base.facts

    def at(self, x):
        point = self.base.at(x)
        return replace(
            point, values=point.values + np.append(0.0, np.full(self.n_constraints, self.shift))
        )


@dataclass
class Ended:
    """A run that ended somewhere, with as many multipliers as we like."""

    multipliers: np.ndarray
    state: Any = None
    success: bool = True


def test_which_methods_use_multipliers():
    multipliers = {
        "augmented_lagrangian",
        "augmented_newton",
        "conex",
        "imela",
        "plada",
        "sp_lm",
        "sqp",
    }
    others = {"ipp_conex", "iqrc", "proxy_lagrangian", "smoothing", "yu_neely_wei"}
    assert multipliers | others <= set(USES)


@pytest.mark.parametrize("method", USES)
def test_fewer_steps_than_cold_on_a_similar_problem(method):
    """In all over the problems it claims, both runs from the solution of the problem before."""
    claim, solver = SOLVERS[method].claim, SOLVERS[method]()
    cold = warm = 0
    for name in claim.problems:
        reference = REFERENCES[name]()
        options = {"max_steps": claim.steps, "tol": claim.residual, "density": 60}
        known = solve(reference.problem, solver, reference.start, **options)
        for shift in (0.01, -0.01):
            problem = Shifted(reference.problem, shift)
            without = solve(problem, solver, known.x, **options)
            result = solve(problem, solver.warm_started(known), known.x, **options)
            assert result.success
            cold, warm = cold + without.nit, warm + result.nit
    assert warm <= cold
    if method not in NO_MULTIPLIERS | {"ipp_conex"}:  # whose first subproblem takes all its steps
        assert warm < cold


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("size", [0, 3])
def test_multipliers_of_another_problem_change_nothing(method, size):
    reference, solver = REFERENCES["convex"](), SOLVERS[method]()
    if any(need.missing(reference.problem, None) for need in solver.needs):
        return
    cold = solve(reference.problem, solver, reference.start, max_steps=40, seed=3)
    foreign = solver.warm_started(Ended(np.ones(size), cold.state))
    assert foreign == solver
    warm = solve(reference.problem, foreign, reference.start, max_steps=40, seed=3)
    np.testing.assert_array_equal(warm.x, cold.x)
    np.testing.assert_array_equal(warm.multipliers, cold.multipliers)
    assert (warm.nit, warm.nfev, warm.njev) == (cold.nit, cold.nfev, cold.njev)


@pytest.mark.parametrize("method", SOLVERS)
def test_a_failed_run_gives_nothing(method):
    solver = SOLVERS[method]()
    assert solver.warm_started(Ended(np.ones(1), success=False)) is solver


def test_multipliers_that_are_not_finite_are_ignored_and_negative_ones_cut():
    problem, x0 = REFERENCES["convex"]().problem, np.array([0.0, 0.5])
    for lam, start in ((np.nan, 0.0), (-1.0, 0.0), (2.0, 2.0)):
        solver = ConEx().warm_started(Ended(np.array([lam])))
        np.testing.assert_array_equal(solver.init(problem, x0).y, [start])


def test_what_a_user_gives_must_fit():
    for solver in (AugmentedNewton, AugmentedLagrangian, ConEx):
        with pytest.raises(ValueError, match="multipliers"):
            solve(REFERENCES["convex"]().problem, solver(multipliers=(1.0, 2.0)))


def test_newton_takes_the_preconditioner_along_where_it_fits():
    problem, x0 = REFERENCES["convex"]().problem, np.array([0.0, 0.5])
    solver = AugmentedNewton()
    for size, taken in ((2, True), (5, False)):
        state = replace(solver.init(problem, x0), preconditioner=Preconditioner.of(np.ones(size)))
        warm = solver.warm_started(Ended(np.ones(1), state)).init(problem, x0)
        assert (warm.preconditioner is not None) is taken
        np.testing.assert_array_equal(warm.lam, [1.0])


@pytest.mark.parametrize("wrap", [BestCertified, Averaged, Restarted])
def test_wrappers_hand_it_on(wrap):
    problem, x0 = REFERENCES["convex"]().problem, np.array([0.0, 0.5])
    result = solve(problem, wrap(AugmentedNewton()), x0, tol=1e-6)
    assert result.success
    warm = wrap(AugmentedNewton()).warm_started(result)
    assert isinstance(warm.solver.multipliers, Guess)
    assert solve(problem, warm, x0, tol=1e-6).nit <= result.nit


def test_a_sequence_hands_it_to_both():
    sequence = Sequence(AugmentedNewton(), IQRC(oracle=ConEx(), rho_hat=1.0))
    problem, x0 = REFERENCES["convex"]().problem, np.array([0.0, 0.5])
    result = solve(problem, sequence, x0, tol=1e-6)
    warm = sequence.warm_started(result)
    assert isinstance(warm.first.multipliers, Guess)
    assert isinstance(warm.second.multipliers, Guess)
    plain = Sequence(SwitchingSubgradient(), SwitchingSubgradient())
    assert plain.warm_started(result) == plain
