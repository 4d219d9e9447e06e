"""The proxy-Lagrangian method (Cotter, Jiang & Sridharan 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array, to_numpy
from equipoise._problem import Problem
from equipoise.solvers._parts.steps import InverseSqrt, StepRule, check_rule
from equipoise.solvers._parts.warm_start import Start, check_start, first_multipliers, start_from
from equipoise.solvers._proxy.candidates import shrink
from equipoise.solvers._proxy.players import (
    AdditiveSwapRegret,
    ExternalRegret,
    Player,
    SwapRegret,
)
from equipoise.solvers._solver import Claim, Finished, Guarantee, Solver

__all__ = [
    "ProxyLagrangian",
    "Player",
    "SwapRegret",
    "AdditiveSwapRegret",
    "ExternalRegret",
]

# Snapshots kept at the most; when there are more, every second one is dropped. Chosen: enough for a
# mixture of m + 1, and a linear program with 64 unknowns is quick.
MAX_SNAPSHOTS = 64


@dataclass(frozen=True)
class Candidates:
    """The best iterate, and some spread evenly over the run."""

    best: Array  # (d,) best candidate so far
    values: np.ndarray  # (m + 1,) objective and true constraints there
    multipliers: np.ndarray | None  # (m,) weights over the objective's, when it was played
    x: np.ndarray  # (n, d) snapshots
    table: np.ndarray  # (n, m + 1) objective and true constraints there
    every: int  # steps between two snapshots


@dataclass(frozen=True)
class State:
    """The iterate, what the other player remembers, and the candidates."""

    x: Array  # (d,) iterate
    play: np.ndarray  # (m + 1, m + 1), or (m + 1,) for `ExternalRegret`
    candidates: Candidates


@dataclass(frozen=True, kw_only=True)
class ProxyLagrangian(Solver[State]):
    r"""A game: x descends the weighted surrogates, the weights climb the true constraints.

    1. lam <- the player's weights of objective and constraints, on the simplex
    2. x <- P_X(x - eta_t sum_i lam_i grad f_i(x)), f_i objective and surrogates
    3. the player learns from the gain (0, g(x)), g the true constraints, with step tau_t
    4. x_t is a candidate, and every so often a snapshot (at most 64 are kept)

    A plain problem's constraints are their own surrogates; see `ProxyProblem`.

    Output: the best candidate, that is the one with the least violation beyond `slack`, and of these the
    one with the lowest objective; the multipliers are ``lam_i / lam_0`` of that step. The values of a
    mini-batch flatter the iterate that was fitted to it, so there only snapshots are candidates,
    evaluated on the whole problem. On convex problems the last iterate ``state.x`` converges too; on
    others it may circle around a solution. The theorem's output, a mixture of at most m + 1 snapshots,
    is ``mixture(state)``.

    Guarantee: the mixture over all iterates is eps-optimal and eps-feasible (for the true
    constraints) after O(eps^-2) steps, where x plays a convex game or an oracle answers for it.

    Parameters
    ----------
    step_size : StepRule, optional
        eta_t; by default ``0.1 / sqrt(t + 1)``, at most 1/L where L is known.
    weight_step : StepRule
        tau_t. Much larger than eta_t: weights that lag behind let x run far out first.
    player : Player
        `SwapRegret` (the paper's), `AdditiveSwapRegret` or `ExternalRegret`.
    slack : float
        Violation that a candidate may have without losing rank.
    multipliers : array of shape (m,), optional
        The weights start at (1, multipliers), scaled to the simplex; by default all is on the objective.

    References
    ----------
    Cotter, Jiang & Sridharan 2019.
    """

    name: ClassVar[str] = "proxy_lagrangian"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="true constraints arbitrary, surrogates convex; a mixture is returned",
        quantity="mean objective and mean true constraints within eps",
        rate="O(eps^-2)",
        reference="Cotter, Jiang & Sridharan 2019, Theorem 2",
    )
    claim: ClassVar[Claim] = Claim(("bilinear", "convex"), residual=1e-2, steps=10_000)

    step_size: StepRule | None = None
    weight_step: StepRule = InverseSqrt(20.0)
    player: Player = SwapRegret()
    slack: float = 1e-3
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        owner = "ProxyLagrangian"
        check_start(owner, self.multipliers)
        if self.step_size is not None:
            check_rule(owner, "step_size", self.step_size)
        check_rule(owner, "weight_step", self.weight_step)
        if not isinstance(self.player, Player):
            _check.fail(owner, "player", "must be a Player, e.g. SwapRegret()", self.player)
        _check.non_negative(owner, "slack", self.slack)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        m = problem.n_constraints
        nowhere = np.full(m + 1, math.inf)
        empty = np.empty((0, problem.dim)), np.empty((0, m + 1))
        lam = first_multipliers("ProxyLagrangian", problem, self.multipliers)
        return State(x0, self.player.start(lam), Candidates(x0, nowhere, None, *empty, 1))

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        batch = problem.sample(rng)
        point = batch.at(state.x)
        g = batch.true_values(point)
        lam = self.player.weights(state.play)  # 1
        x = problem.domain.project(state.x - self._eta(problem, t) * point.vjp(lam))  # 2
        play = self.player.learn(state.play, np.append(0.0, g), lam, self.weight_step(t))  # 3
        kept, snapshot = state.candidates, t % state.candidates.every == 0
        if batch is problem or snapshot:  # 4
            if batch is not problem:
                point = problem.at(state.x)
                g = problem.true_values(point)
            values = np.append(point.objective, g)
            if self._rank(values) < self._rank(kept.values):
                ratio = lam[1:] / lam[0] if lam[0] > 0 else None
                kept = replace(kept, best=state.x, values=values, multipliers=ratio)
            kept = _snapped(kept, state.x, values) if snapshot else kept
        return State(x, play, kept)

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers of `result` to start from."""
        return start_from(self, result)

    def output(self, state: State) -> tuple[Array, np.ndarray | None]:
        """Return the best candidate."""
        return state.candidates.best, state.candidates.multipliers

    def mixture(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return at most m + 1 snapshots (k, d) and their probabilities (k,)."""
        table = state.candidates.table
        p = shrink(table[:, 0], table[:, 1:])
        return state.candidates.x[p > 0], p[p > 0]

    def _eta(self, problem: Problem, t: int) -> float:
        if self.step_size is not None:
            return self.step_size(t)
        L = problem.facts.smoothness
        return min(0.1 / math.sqrt(t + 1), 1 / L if L else math.inf)

    def _rank(self, values: np.ndarray) -> tuple[float, float]:
        return max(0.0, float(values[1:].max(initial=-math.inf)) - self.slack), float(values[0])


def _snapped(kept: Candidates, x: Array, values: np.ndarray) -> Candidates:
    """Return the candidates with one more snapshot, thinned when there are too many."""
    points, table = np.vstack((kept.x, to_numpy(x))), np.vstack((kept.table, values))
    if len(points) <= MAX_SNAPSHOTS:
        return replace(kept, x=points, table=table)
    return replace(kept, x=points[::2], table=table[::2], every=2 * kept.every)
