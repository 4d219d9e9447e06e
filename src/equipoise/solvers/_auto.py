"""Choosing a solver by what is known of the problem."""

from __future__ import annotations

import math

import numpy as np

from equipoise.problem import Problem
from equipoise.solvers._methods.augmented_newton import AugmentedNewton
from equipoise.solvers._methods.iqrc import IQRC
from equipoise.solvers._methods.level_set import LevelSet
from equipoise.solvers._methods.smoothing import Smoothing
from equipoise.solvers._methods.switching import SwitchingSubgradient
from equipoise.solvers._parts.steps import InverseSqrt, Normalised
from equipoise.solvers._sequence import Then
from equipoise.solvers._solver import Solver

COME_NEAR = 500  # subgradient steps before proximal ones: these go far, those are exact
FEW = 50  # dimensions in which cutting planes get somewhere
BATCHES = 50  # mini-batches before full evaluations


def choose(problem: Problem, tol: float = 1e-8) -> Solver:
    """Return the method that suits a problem, set up to reach `tol`; nothing is left to tune.

    - Smooth: `AugmentedNewton`, which converges superlinearly.
    - Kinks that the problem can round (hinge loss, absolute values), with second derivatives: `Smoothing`,
      Newton's method again; in few dimensions under convex constraints `LevelSet` goes on where it stalls.
    - Other kinks, convex: `LevelSet`, whose cutting planes learn all slopes around a kink, where a
      subgradient method sees one of them at a time.
    - Other kinks, weakly convex: switching subgradients to come near, then `IQRC` with the level-set
      oracle, whose proximal points prove what the run claims.
    - Kinks of which nothing is known: switching subgradients with steps of a length that fits the domain,
      whatever the functions' scale.
    - Nothing known: `AugmentedNewton`, and switching subgradients where it stalls.
    - Stochastic: mini-batches of switching subgradients to come near, then the method for the same
      problem without noise. Averages over batches stop at the noise, and `Problem.at` is exact.
    """
    finish = _deterministic(problem, tol)
    if not problem.facts.stochastic or isinstance(finish, SwitchingSubgradient):
        return finish
    return Then(_switching(problem), finish, steps=BATCHES)


def _deterministic(problem: Problem, tol: float) -> Solver:
    facts, aim = problem.facts, 0.9 * tol if tol > 0 else 1e-9
    if facts.smooth:
        return AugmentedNewton(tol=aim)
    if facts.smooth is None:
        return Then(AugmentedNewton(tol=aim), _switching(problem))
    if _curved(problem.smoothed(1.0)):
        few = facts.convex and problem.n_constraints > 0 and problem.dim <= FEW
        smoothing = Smoothing(tol=aim)
        return Then(smoothing, LevelSet(), steps=1000) if few else smoothing
    if facts.convex or facts.weak_convexity == 0.0:
        return LevelSet()
    if facts.weak_convexity is not None:
        proximal = IQRC(oracle=LevelSet(), eps_hat=InverseSqrt(0.03))
        return Then(_switching(problem), proximal, steps=COME_NEAR)
    return _switching(problem)


def _curved(problem: Problem | None) -> bool:
    """Whether there is such a problem, and it has second derivatives of its own."""
    if problem is None:
        return False
    return problem.at(problem.domain.project(np.zeros(problem.dim))).hvp is not None


def _switching(problem: Problem) -> SwitchingSubgradient:
    diameter = problem.domain.diameter
    length = min(max(0.05 * diameter, 0.01), 1.0) if math.isfinite(diameter) else 0.2
    return SwitchingSubgradient(step_size=Normalised(length), slack=InverseSqrt(1e-3))
