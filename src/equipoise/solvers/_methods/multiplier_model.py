"""The multiplier model: one network for the multipliers of many constraints (Narasimhan et al. 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.solvers._multiplier_model.adagrad import adagrad
from equipoise.solvers._multiplier_model.network import MultiplierNetwork
from equipoise.solvers._solver import Claim, Guarantee, Solver

__all__ = ["MultiplierModel"]


@dataclass(frozen=True)
class State:
    """Parameters and network, what Adagrad has seen of them, and the best candidate."""

    x: Array  # (d,) iterate
    phi: np.ndarray | None  # weights and biases of the network; None before the first step
    x_squares: Array  # (d,) sums of squared gradients by x
    phi_squares: np.ndarray  # and by phi
    best: Array  # (d,) best candidate
    score: tuple[float, float]  # its largest true violation and its objective
    multipliers: np.ndarray  # (m,) at the best candidate


@dataclass(frozen=True, kw_only=True)
class MultiplierModel(Solver[State]):
    r"""Descend the objective and one constraint, whose multiplier a network computes from its features.

    With m constraints, of which constraint i has features ``v_i``, and a network ``N`` with parameters phi:

    1. i <- one of 1..m at random; lam <- |N(v_i; phi)|
    2. x <- P_X(x - step on grad f_0(x) + lam grad f_i(x)), f_i the surrogate
    3. phi <- phi + step on scale g_i(x) grad_phi lam, g_i the true constraint at the old x
    4. once in `every` steps, x is a candidate

    Both steps are those of Adagrad, or plain ones of the same size. A plain problem's constraints are
    their own surrogates; see `equipoise.problems.ProxyProblem`. On mini-batches steps 2 and 3 see one;
    candidates are evaluated on the whole problem.

    Output: the candidate with the least violation of a true constraint, and of these the one with the lowest
    objective; the multipliers ``|N(v_i)| / m``, whose Lagrangian step 2 descends on average.

    Guarantee: none for networks. For multipliers that the model can represent, convex functions and an
    oracle for step 2, the mean over iterates is nearly optimal and feasible.

    Parameters
    ----------
    features : array of shape (m, k), optional
        What the network is told of every constraint, such as the thresholds that define a group. Without
        them all constraints have one common multiplier.
    hidden : sequence of int
        Units of the hidden layers.
    step_size : float
    scale : float
        How much longer steps 3 are: the published code's function has 5, its command line 0.01.
    adaptive : bool
        Whether steps are Adagrad's; else they are plain gradient steps.
    every : int
        Steps between two candidates.

    References
    ----------
    Narasimhan, Cotter, Zhou, Wang & Guo 2020, and their code (google-research, ``many_constraints``).
    """

    name: ClassVar[str] = "multiplier_model"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="convex, many constraints, multipliers a function of their features",
        quantity="objective gap and violation of the mean, up to what the model cannot represent",
        rate="O(eps^-2) with an oracle for x; none for networks",
        reference="Narasimhan, Cotter, Zhou, Wang & Guo 2020",
    )
    claim: ClassVar[Claim] = Claim(("convex",), residual=1e-2, steps=10_000)

    features: Any = field(default=None, compare=False)
    hidden: tuple[int, ...] = (100, 100)
    step_size: float = 0.1
    scale: float = 1.0
    adaptive: bool = True
    every: int = 400

    def __post_init__(self) -> None:
        owner = "MultiplierModel"
        if self.features is not None:
            features = _check.matrix(owner, "features", self.features, "m", "k")
            object.__setattr__(self, "features", features)
        units = _check.sequence(owner, "hidden", self.hidden)
        hidden = tuple(_check.count(owner, "hidden", size, least=1) for size in units)
        object.__setattr__(self, "hidden", hidden)
        _check.positive(owner, "step_size", self.step_size)
        _check.positive(owner, "scale", self.scale)
        _check.flag(owner, "adaptive", self.adaptive)
        _check.count(owner, "every", self.every, least=1)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        self._features(problem)
        zero = np.zeros(self._network.dim)
        nowhere = math.inf, math.inf
        return State(x0, None, 0.0 * x0, zero, x0, nowhere, np.zeros(problem.n_constraints))

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        network, features, m = self._network, self._features(problem), problem.n_constraints
        phi = network.start(rng) if state.phi is None else state.phi
        batch = problem.sample(rng)
        point = batch.at(state.x)
        best = state.best, state.score, state.multipliers
        if t % self.every == 0:  # 4
            whole = point if batch is problem else problem.at(state.x)
            worst = float(problem.true_values(whole).max(initial=0.0))
            score = worst, whole.objective
            if score < state.score:
                best = state.x, score, np.abs(network.at(phi, features)) / max(m, 1)
        weights = np.eye(1, m + 1)[0]
        phi_squares = state.phi_squares
        if m > 0:
            i = int(rng.integers(m))  # 1
            value, slope = network.gradient(phi, features[i])
            weights[1 + i] = abs(value)
            rise = self.scale * float(batch.true_values(point)[i]) * math.copysign(1.0, value)
            phi, phi_squares = self._stepped(phi, -rise * slope, phi_squares)  # 3
        x, x_squares = self._stepped(state.x, point.vjp(weights), state.x_squares)  # 2
        return State(problem.domain.project(x), phi, x_squares, phi_squares, *best)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the best candidate and its multipliers."""
        return state.best, state.multipliers

    @property
    def _network(self) -> MultiplierNetwork:
        """The network: without features its last bias alone."""
        if self.features is None:
            return MultiplierNetwork((0, 1))
        return MultiplierNetwork((self.features.shape[1], *self.hidden, 1))

    def _features(self, problem: Problem) -> np.ndarray:
        if self.features is None:
            return np.empty((problem.n_constraints, 0))
        if len(self.features) != problem.n_constraints:
            rule = f"must have one row for each of the {problem.n_constraints} constraints"
            _check.fail("MultiplierModel", "features", rule, len(self.features))
        return self.features

    def _stepped(self, x: Array, g: Array, squares: Array) -> tuple[Array, Array]:
        """Return `x` after a step down the gradient `g`, and the squares of the gradients so far."""
        if self.adaptive:
            return adagrad(x, g, squares, self.step_size)
        return x - self.step_size * g, squares
