"""A gradient checker that says which function's gradient is wrong, and by how much."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from equipoise import _check
from equipoise._array import Array, copied, dot, like, norm, to_numpy
from equipoise._problem import Point, Problem
from equipoise.problems._answers import check_attributes, checked_at

# The lengths of the steps, relative to max(1, |x|), along which values are differenced: the error is least
# for one of them, which one depends on the function. Chosen.
DIFFERENCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


@dataclass(frozen=True)
class ProblemCheck:
    """What `check_problem` found.

    Attributes
    ----------
    errors : ndarray of shape (m + 1,)
        For each function the relative error of its gradient along the worst direction tried.
    hvp_errors : ndarray of shape (m + 1,) or None
        The same for the Hessian products; None where the problem has none.
    problems : tuple of str
        One sentence for every fault; empty when all is well.
    """

    errors: np.ndarray
    hvp_errors: np.ndarray | None
    problems: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.problems

    def raise_if_wrong(self) -> None:
        """Raise a `ValueError` that lists the faults, if there are any."""
        if self.problems:
            raise ValueError("check_problem: " + " ".join(self.problems))

    def __str__(self) -> str:
        return (
            "\n".join(self.problems) if self.problems else "All gradients agree with differences."
        )


def check_problem(
    problem: Problem, x: Array, *, directions: int = 5, tol: float = 1e-5, seed: int = 0
) -> ProblemCheck:
    """Compare every gradient (and Hessian product) with central differences at `x`, `push` with gradients.

    Parameters
    ----------
    problem : Problem
    x : array of shape (d,)
        Away from kinks: there a subgradient need not agree with differences.
    directions : int
        Random directions tried for every function.
    tol : float
        The relative error above which a gradient is called wrong.
    seed : int

    Returns
    -------
    ProblemCheck
        Names each function whose gradient is wrong, with the measured and the expected slope.
    """
    owner = "check_problem"
    check_attributes(owner, problem)
    x = _check.point(owner, "x", x, problem.dim)
    directions = _check.count(owner, "directions", directions, least=1)
    tol = _check.positive(owner, "tol", tol)
    rng = np.random.default_rng(_check.count(owner, "seed", seed))
    before = copied(x)
    point = checked_at(problem, x)
    faults = _shape_faults(problem, point)
    if not _alike(to_numpy(x), to_numpy(before)):
        faults.append("`at` changes the `x` that it is given.")
    m = problem.n_constraints
    if faults:
        return ProblemCheck(np.full(m + 1, np.inf), None, tuple(faults))
    faults = _forgotten(problem, point, x + like(rng.normal(size=problem.dim), x))
    errors, hvp_errors = np.zeros(m + 1), np.zeros(m + 1)
    worst: dict[int, tuple[float, float]] = {}
    pushes: dict[int, tuple[float, float]] = {}  # where `push` differs from the gradient
    for _ in range(directions):
        v = like(rng.normal(size=problem.dim), x)
        v = v / norm(v)
        measured = _slopes(problem, x, v)
        pushed = None if point.push is None else point.push(v)
        for i in range(m + 1):
            gradient = point.gradient(i)
            expected = dot(gradient, v)
            gap, difference = _closest(measured[:, i], expected, point.values[i])
            if pushed is not None and not _closest(pushed[[i]], expected, 1.0)[0] <= tol:
                pushes[i] = float(pushed[i]), expected
            if not gap <= errors[i]:
                errors[i], worst[i] = gap, (expected, difference)
            if point.hvp is not None:
                hvp_errors[i] = max(hvp_errors[i], _hvp_error(problem, point, i, v))
    for wrong in np.flatnonzero(~(errors <= tol)):
        i = int(wrong)
        expected, difference = worst[i]
        faults.append(
            f"The gradient of {problem.label(i)} is wrong: along one direction it gives "
            f"{expected:.6g}, differences give {difference:.6g} (relative error {errors[i]:.1e})."
        )
    for i, (found, expected) in pushes.items():
        faults.append(
            f"`push` is wrong for {problem.label(i)}: along one direction it gives {found:.6g}, the "
            f"gradient gives {expected:.6g}."
        )
    for wrong in np.flatnonzero(~(hvp_errors <= max(tol, 1e-4))):
        i = int(wrong)
        faults.append(
            f"The Hessian product of {problem.label(i)} is wrong "
            f"(relative error {hvp_errors[i]:.1e})."
        )
    return ProblemCheck(errors, hvp_errors if point.hvp is not None else None, tuple(faults))


def _shape_faults(problem: Problem, point: Point) -> list[str]:
    faults = []
    expected = (problem.n_constraints + 1,)
    if np.shape(point.values) != expected:
        faults.append(f"`values` has shape {np.shape(point.values)}, expected {expected}.")
        return faults
    for i in range(expected[0]):
        label = problem.label(i)
        if not np.isfinite(point.values[i]):
            faults.append(f"The value of {label} is {point.values[i]}.")
        try:
            point.gradient(i)
        except _check.InputError as error:
            faults.append(f"The gradient of {label} is wrong: {error}")
    return faults


def _forgotten(problem: Problem, point: Point, elsewhere: Array) -> list[str]:
    """Compare the gradients of a point with what it says after the problem was evaluated elsewhere."""
    functions = range(problem.n_constraints + 1)
    before = [to_numpy(point.gradient(i)).copy() for i in functions]
    try:
        checked_at(problem, elsewhere).vjp(np.ones(point.values.size))
    except (ArithmeticError, ValueError):  # a function may refuse points outside its domain
        return []
    changed = [i for i in functions if not _alike(to_numpy(point.gradient(i)), before[i])]
    return [
        f"The gradient of {problem.label(i)} changes once the problem is evaluated at another point: what "
        "`at` returns must not use arrays that a later call writes to."
        for i in changed[:1]
    ]


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-6, atol=0.0, equal_nan=True))


def _slopes(problem: Problem, x: Array, v: Array) -> np.ndarray:
    """Central differences along `v`, one row per step size."""
    scale = max(1.0, norm(x))
    rows = []
    for h in DIFFERENCES:
        ahead = checked_at(problem, x + (h * scale) * v).values
        behind = checked_at(problem, x - (h * scale) * v).values
        rows.append((ahead - behind) / (2 * h * scale))
    return np.array(rows)


def _closest(differences: np.ndarray, expected: float, value: float) -> tuple[float, float]:
    """The difference quotient nearest to the slope claimed, and its relative error."""
    best = int(np.argmin(np.abs(differences - expected)))
    difference = float(differences[best])
    floor = 1e-8 * max(1.0, abs(float(value)))
    gap = abs(difference - expected) / max(abs(difference), abs(expected), floor)
    return gap, difference


def _hvp_error(problem: Problem, point: Point, i: int, v: Array) -> float:
    assert point.hvp is not None
    weights = np.zeros(point.values.size)
    weights[i] = 1.0
    h = 1e-5 * max(1.0, norm(point.x))
    ahead, behind = problem.at(point.x + h * v), problem.at(point.x - h * v)
    difference = (ahead.vjp(weights) - behind.vjp(weights)) / (2 * h)
    product = point.hvp(weights, v)
    return norm(product - difference) / max(norm(difference), norm(product), 1e-6)
