"""What IQRC takes from its oracle and from the problem: guarantee, needs, moduli."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.solvers._iqrc.secants import measured_weak_convexity
from equipoise.solvers._oracle import Oracle
from equipoise.solvers._solver import CONVEX, CONVEX_CONSTRAINTS, Guarantee, Need

# By oracle: for which functions, and how many (sub)gradients in all.
TOTALS = {
    "strong_switching": ("non-smooth", "O(eps^-4)"),
    "yu_neely_wei": ("non-smooth, stochastic", "O~(eps^-6), with probability 1 - delta"),
    "conex": ("smooth or not", "O~(eps^-4), smooth O~(eps^-3)"),
    "augmented_lagrangian": ("smooth", "O~(eps^-3)"),
    "level_set": ("smooth", "O~(eps^-3)"),
    "sfls": ("with a min-max form, stochastic", "O~(eps^-6), with probability 1 - delta"),
}


def guarantee_of(oracle: Oracle) -> Guarantee:
    """Return what theory promises with this oracle."""
    composed = f"O(eps^-2) oracle calls of accuracy eps^2, each {oracle.guarantee.rate} in that"
    functions, rate = TOTALS.get(oracle.name, ("", composed))
    return Guarantee(
        problems=f"weakly convex objective and constraints, {functions}".rstrip(", "),
        quantity="E |x_R - xhat(x_R)|^2 <= eps^2 (constraints regularised too)",
        rate=rate,
        reference=f"Ma, Lin & Yang 2019 and 2020, Theorem 1; oracle: {oracle.guarantee.reference}",
    )


def needs_of(oracle: Oracle) -> tuple[Need, ...]:
    """Return what the oracle needs, without convexity: the subproblems have that."""
    return tuple(need for need in oracle.needs if need not in (CONVEX, CONVEX_CONSTRAINTS))


class OfOracle:
    """A class attribute that follows from the oracle: the default one's on the class."""

    def __init__(self, derive: Callable[[Oracle], Any]) -> None:
        self.derive = derive

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.derive(owner.oracle if instance is None else instance.oracle)


# A weak-convexity constant measured by secants is taken to be this many times as large. Chosen: a few pairs
# of points do not meet the steepest fall.
SAFETY = 2.0


def moduli(
    problem: Problem, rho_hat: float | None, rho: float | None, x: Array
) -> tuple[float, float]:
    """Return rho_hat and rho: from the facts where they were not given, else by secants around `x`."""
    rho = problem.facts.weak_convexity if rho is None else rho
    if rho_hat is None and rho is None:
        rho = SAFETY * measured_weak_convexity(problem, x)
    if rho_hat is None:
        rho_hat = 2 * rho if rho else 1.0
    rho = rho_hat / 2 if rho is None else rho
    if not rho_hat > rho:
        rule = f"must exceed the weak-convexity constant `rho` = {rho:g}"
        _check.fail("IQRC", "rho_hat", rule, rho_hat)
    return rho_hat, rho
