"""Choosing a solver by what is known of the problem."""

from __future__ import annotations

import math

import numpy as np

from equipoise import _check
from equipoise._problem import Problem
from equipoise.solvers._methods.augmented_newton import AugmentedNewton
from equipoise.solvers._methods.constrained_bundle import ConstrainedBundle
from equipoise.solvers._methods.iqrc import IQRC
from equipoise.solvers._methods.level_set import LevelSet
from equipoise.solvers._methods.smoothing import Smoothing
from equipoise.solvers._methods.sqp import SQP
from equipoise.solvers._methods.switching import SwitchingSubgradient
from equipoise.solvers._parts.steps import InverseSqrt, Normalised
from equipoise.solvers._sequence import Sequence
from equipoise.solvers._solver import Solver

# A method aims for this share of the tolerance asked for, so that the examiner agrees in spite of rounding
# errors. Chosen just below 1; half of it takes 28 % more work (docs/constants.md).
AIMED_SHARE_OF_TOL = 0.9

# At kinks the examiner proves more the nearer a point is to the solution. Measured with 0.9, 0.1 and 0.01 on
# 74 random problems of `benchmarks/hunt` at 1e-2, 1e-4 and 1e-6: 201, 203 and 204 successes of 222, with
# 5,100, 5,800 and 6,400 evaluations.
SHARE_AT_KINKS = 0.1

# What a method aims for where no tolerance is asked for. Chosen: about what rounding errors allow.
TOL_WITHOUT_ONE = 1e-9

# Subgradient steps before proximal ones, which are exact but short. Chosen.
STEPS_BEFORE_PROXIMAL = 500

# Steps of sequential quadratic programming before another method takes over; it stops by itself where it
# stalls. Chosen.
STEPS_OF_SQP = 1000

# Variables and constraints up to which quadratic programs with a dense matrix are quick: some
# milliseconds. Chosen.
MAX_DIM_FOR_SQP, MAX_CONSTRAINTS_FOR_SQP = 300, 1000

# Steps from which the curvature of many variables is learned. Measured on thirteen generated problems with
# 400 to 10,000 variables: 50 take about as many evaluations, 10 up to twice as many. Fewer, to save memory,
# where the steps would have more numbers than this, but not fewer than five. Chosen.
MEMORY, LEAST_MEMORY, NUMBERS_IN_MEMORY = 30, 5, 10_000_000

# Newton steps on rounded kinks before cutting planes take over. Chosen; it is rarely used up.
STEPS_BEFORE_PLANES = 1000

# Dimensions up to which cutting planes get somewhere: their number grows with the dimension. Chosen.
MAX_DIM_FOR_PLANES = 50

# The violation that counts as none in the first step of switching subgradients; it falls with the root of
# the steps. Chosen.
FIRST_SLACK = 1e-3

# The accuracy of the first proximal point, which falls with the root of their number. Chosen.
FIRST_ACCURACY = 0.03

# Mini-batches before full evaluations: enough to come near at the cost of a few full ones. Chosen.
BATCHES = 50


def choose(problem: Problem, tol: float = 1e-8) -> Solver:
    """Return the method that suits a problem, set up to reach `tol`; nothing is left to tune.

    - Smooth functions: `SQP`, which needs the fewest evaluations, and `AugmentedNewton` where it stalls.
    - Smooth functions with many variables or constraints, or with estimates of their curvature:
      `AugmentedNewton`, which learns curvature from its steps where many variables have gradients alone.
    - Kinks that the problem can round (hinge loss, absolute values), with second derivatives: `Smoothing`,
      which is Newton's method again. In few dimensions under convex constraints, `LevelSet` goes on
      where it stalls.
    - Other kinks, convex functions: `ConstrainedBundle`, whose planes learn all slopes around a kink, where a
      subgradient method sees one of them at a time, and which needs no strictly feasible point; `LevelSet`
      where there are many variables or constraints.
    - Other kinks, weakly convex functions: switching subgradients to come near, then `IQRC` with the
      level-set oracle, whose proximal points prove what the run claims.
    - Kinks of which nothing is known: switching subgradients with steps of a length that fits the domain,
      whatever the scale of the functions.
    - Nothing known: as for smooth functions, and switching subgradients where that stalls at kinks.
    - Mini-batches: switching subgradients on them to come near, then the method for the same problem
      without noise. Averages over batches stop at the noise, whereas `Problem.at` is exact.
    """
    _check.kind("choose", "problem", problem, Problem)
    finish = _deterministic(problem, _check.non_negative("choose", "tol", tol))
    if not problem.stochastic or finish == _switching(problem):
        return finish
    return Sequence(_switching(problem), finish, steps=BATCHES)


def _deterministic(problem: Problem, tol: float) -> Solver:
    facts = problem.facts
    aim = AIMED_SHARE_OF_TOL * tol if tol > 0 else TOL_WITHOUT_ONE
    if facts.smooth is not False:
        newton = AugmentedNewton(tol=aim, memory=_memory(problem))
        if not _suits_sqp(problem):
            return newton if facts.smooth else Sequence(newton, _switching(problem))
        after = newton if facts.smooth else _switching(problem)
        return Sequence(SQP(tol=aim), after, steps=STEPS_OF_SQP)
    if _has_second_derivatives(problem.smoothed(1.0)):
        smoothing = Smoothing(tol=aim)
        if facts.convex and problem.n_constraints > 0 and problem.dim <= MAX_DIM_FOR_PLANES:
            return Sequence(smoothing, LevelSet(), steps=STEPS_BEFORE_PLANES)
        return smoothing
    if facts.convex or facts.weak_convexity == 0.0:
        suits = _suits_programs(problem)
        return ConstrainedBundle(tol=SHARE_AT_KINKS * aim) if suits else LevelSet()
    if facts.weak_convexity is not None:
        proximal = IQRC(oracle=LevelSet(), eps_hat=InverseSqrt(FIRST_ACCURACY))
        return Sequence(_switching(problem), proximal, steps=STEPS_BEFORE_PROXIMAL)
    return _switching(problem)


def _suits_sqp(problem: Problem) -> bool:
    """Whether quadratic programs are quick, and gradients are all there is to learn the curvature from."""
    return not problem.sketched and _suits_programs(problem)


def _suits_programs(problem: Problem) -> bool:
    """Whether quadratic programs are quick."""
    if problem.dim > MAX_DIM_FOR_SQP or problem.n_constraints > MAX_CONSTRAINTS_FOR_SQP:
        return False
    origin = problem.domain.project(np.zeros(problem.dim))
    return problem.domain.linear_rows(origin) is not None


def _memory(problem: Problem) -> int:
    """Return how many steps to learn curvature from, if there is no other way to get at much of it."""
    if problem.sketched or problem.dim <= MAX_DIM_FOR_SQP:
        return 0
    return min(MEMORY, max(LEAST_MEMORY, NUMBERS_IN_MEMORY // problem.dim))


def _has_second_derivatives(problem: Problem | None) -> bool:
    """Whether there is such a problem, and it can multiply with its Hessians."""
    if problem is None:
        return False
    return problem.at(problem.domain.project(np.zeros(problem.dim))).hvp is not None


def _switching(problem: Problem) -> SwitchingSubgradient:
    """Return the method with a first step of a twentieth of the domain's diameter, at most 1; chosen."""
    diameter = problem.domain.diameter
    length = min(max(0.05 * diameter, 0.01), 1.0) if math.isfinite(diameter) else 0.2
    return SwitchingSubgradient(step_size=Normalised(length), slack=InverseSqrt(FIRST_SLACK))
