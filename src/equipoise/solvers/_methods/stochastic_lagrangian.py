"""An augmented Lagrangian method for mini-batches, with steps that fit the slopes seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.solvers._parts.warm_start import Start, check_start, first_multipliers, start_from
from equipoise.solvers._solver import Claim, Finished, Guarantee, Solver

__all__ = ["StochasticLagrangian"]


# The mean of squared gradients forgets steps older than about this: the first gradients, far from the
# feasible set, can be much longer than all others. Chosen.
REMEMBERED_STEPS = 100

# Added to the root of that mean, so that a coordinate which nothing depends on stays where it is.
LEAST_ROOT = 1e-12


@dataclass(frozen=True)
class State:
    """The iterate and its mean, how steep coordinates are, the multipliers, and means of the constraints."""

    x: Array  # (d,) iterate
    mean: Array  # (d,) of the iterates, late ones counted more
    squares: Array  # (d,) running mean of squared gradients
    lam: np.ndarray  # (m,) integral of the violation
    g: np.ndarray  # (m,) running mean of the constraints on mini-batches
    used: np.ndarray  # (m,) multipliers of the last step


@dataclass(frozen=True, kw_only=True)
class StochasticLagrangian(Solver[State]):
    r"""Descend the augmented Lagrangian on mini-batches; multipliers follow running means of the constraints.

    1. f, f' <- values and gradients of one mini-batch at x
    2. mu <- [lam + penalty g]_+, g the running mean of the constraints on earlier mini-batches, which are
       independent of this one (without mini-batches, the constraints at x)
    3. h <- f_0' + sum_i mu_i f_i'; x <- P_X(x - step_size h / sqrt((t + 1) v)), v the running mean of h^2,
       number by number
    4. g <- g + (f - g) / min(t + 1, memory); lam <- [lam + dual_step g]_+

    Output: the mean of the iterates with weights that grow like t^3 (Shamir & Zhang 2013), and mu. Step 3
    is that of Mukkamala & Hein 2017: its length does not depend on the unit of the functions. Multipliers
    are in units of objective over constraint, and the defaults suit values of about 1, such as losses
    and rates.

    Guarantee: none is proved.

    Parameters
    ----------
    step_size : float
        How far a coordinate moves in the first steps.
    penalty, dual_step : float
        The defaults are those of `equipoise.torch.ConstrainedOptimizer`.
    memory : int
        Mini-batches that the running mean is about.
    multipliers : array of shape (m,), optional
        Where lam starts; 0 by default.

    References
    ----------
    Hestenes 1969; Mukkamala & Hein 2017; Shamir & Zhang 2013.
    """

    name: ClassVar[str] = "stochastic_lagrangian"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="stochastic, non-smooth",
        quantity="none proved",
        rate="none proved",
        reference="-",
    )
    claim: ClassVar[Claim] = Claim(("bilinear", "convex"), residual=1e-2, steps=10_000)

    step_size: float = 0.1
    penalty: float = 10.0
    dual_step: float = 0.1
    memory: int = 20
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        owner = "StochasticLagrangian"
        check_start(owner, self.multipliers)
        for parameter in ("step_size", "penalty", "dual_step"):
            _check.positive(owner, parameter, getattr(self, parameter))
        _check.count(owner, "memory", self.memory, least=1)

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers of `result` to start from."""
        return start_from(self, result)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        lam = first_multipliers("StochasticLagrangian", problem, self.multipliers)
        return State(x0, x0, 0.0 * x0, lam, np.zeros(lam.size), lam)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        batch = problem.sample(rng)
        point = batch.at(state.x)  # 1
        seen = point.constraints
        exact = batch is problem
        g = seen if exact else state.g + (seen - state.g) / min(t + 1, self.memory)
        used = np.maximum(state.lam + self.penalty * (g if exact else state.g), 0.0)  # 2
        gradient = point.lagrangian_gradient(used)
        size = min(t + 1, REMEMBERED_STEPS)
        squares = state.squares + (gradient * gradient - state.squares) / size
        apart = gradient / (((t + 1) * squares) ** 0.5 + LEAST_ROOT)
        x = problem.domain.project(state.x - self.step_size * apart)  # 3
        lam = np.maximum(state.lam + self.dual_step * g, 0.0)  # 4
        mean = state.mean + (4.0 / (t + 4.0)) * (x - state.mean)
        return State(x, mean, squares, lam, g, used)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the mean of the iterates, and the multipliers of the last step."""
        return state.mean, state.used
