"""A problem that counts its evaluations and refuses values that are not finite."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import Array, all_finite, square
from equipoise._problem import Kinks, NonFiniteError, Point, Problem, Saddle
from equipoise.problems._answers import checked_at
from equipoise.run._pulled import Pulled

# With at most the first number of variables, the latest points are remembered: as many as there are
# variables, and the second number more. Chosen: a look at the curvature takes one point for each direction,
# and those remembered need not be evaluated again.
MAX_DIM_REMEMBERED, MORE_THAN_DIM = 20, 3


# A Hessian as a matrix of this many columns counts as one product. Measured with 17 columns and 6,000 rows in
# memory: it took as long as 5.6 products.
COLUMNS_PER_PRODUCT = 3


@dataclass
class Counter:
    """How often a problem was evaluated."""

    values: int = 0  # forward passes
    gradients: int = 0  # backward passes
    products: int = 0  # Hessian products

    def __add__(self, other: Counter) -> Counter:
        """Return both counts together."""
        return Counter(
            self.values + other.values,
            self.gradients + other.gradients,
            self.products + other.products,
        )


class WatchedProblem(Problem):
    """The problem a solver sees: the user's, with every evaluation counted and checked."""

    def __init__(self, base: Problem, counter: Counter) -> None:
        self._base, self._counter = base, counter
        # Held until the next evaluation is done: were all large arrays freed between two steps, the
        # allocator would hand their pages back and fault them in again, step after step.
        self._evaluated: Point | None = None  # the base's latest point
        self._latest: Point | None = None  # the same, counted and checked
        self._square = 0.0  # of its `x`
        self._pulled = Pulled()  # its gradients
        kept = base.dim + MORE_THAN_DIM if base.dim <= MAX_DIM_REMEMBERED else 0
        self._earlier: deque[Point] = deque(maxlen=kept)  # the base's latest ones without products
        self._smoothed: tuple[float, WatchedProblem | None] | None = None  # the latest width
        self.dim, self.n_constraints = base.dim, base.n_constraints
        self.domain, self.names, self.facts = base.domain, base.names, base.facts
        self.bound, self.sketched = base.bound, base.sketched

    def at(self, x: Array) -> Point:
        """Evaluate, count, and check the values; the same `x` twice in a row is evaluated once."""
        if self._latest is not None and self._latest.x is x and self._square == square(x):
            return self._latest
        self._counter.values += 1
        self._square = square(x)  # notices an `x` that was changed in place
        self._pulled = Pulled()
        evaluated = checked_at(self._base, x)
        self._latest = self._watched(evaluated, self._counter)
        self._evaluated = evaluated
        self._remember(evaluated)
        return self._latest

    @property
    def counter(self) -> Counter:
        """The counts of all evaluations."""
        return self._counter

    @property
    def latest(self) -> Array | None:
        """Where the latest evaluation was."""
        return None if self._latest is None else self._latest.x

    @property
    def earlier(self) -> Sequence[Point]:
        """Some of the latest evaluations, for which a problem without Hessian products has use."""
        return tuple(self._earlier)

    def _remember(self, evaluated: Point) -> None:
        if self._earlier.maxlen and evaluated.hvp is None:
            self._earlier.append(
                replace(evaluated, x=0.0 + evaluated.x)
            )  # `x` may be changed in place

    @property
    def pulled(self) -> list[np.ndarray]:
        """The weights of the gradients that are at hand of the latest evaluation."""
        return self._pulled.weights

    def resume(
        self, latest: Array | None, earlier: Sequence[Array], pulled: Sequence[np.ndarray]
    ) -> None:
        """Go on as if the evaluations, counted in an earlier part of the run, were at hand."""
        for x in earlier:
            self._remember(checked_at(self._base, x))
        if latest is not None:
            self._square = square(latest)
            self._evaluated = checked_at(self._base, latest)
            self._latest = self._watched(self._evaluated, self._counter)
            for weights in pulled:
                self._pulled.note(weights, self._evaluated.vjp(weights))

    def forget(self) -> None:
        """Let go of the latest evaluation: it refers back here, and its arrays are large."""
        self._forget_smoothed()
        self._evaluated = self._latest = None
        self._pulled = Pulled()
        self._earlier.clear()

    def free(self, x: Array) -> Point:
        """Evaluate without counting; what the solver has just evaluated at `x` is used again."""
        point = self._evaluated
        if point is None or point.x is not x or self._square != square(x):
            return self._watched(checked_at(self._base, x), Counter())
        pulled, vjp = self._pulled, point.vjp

        def pull(weights: np.ndarray) -> Array:
            known = pulled.gradient(weights)
            return vjp(weights) if known is None else known

        return self._watched(replace(point, vjp=pull), Counter())

    def _watched(self, point: Point, counter: Counter) -> Point:
        """Return the point with numbers that are finite, and its gradients counted."""
        if not all_finite(point.values):
            i = int(np.flatnonzero(~np.isfinite(point.values))[0])
            unbounded = bool(point.values[0] == -np.inf)
            raise NonFiniteError(f"The value of {self.label(i)} is {point.values[i]}.", unbounded)
        base_vjp, base_hvp = point.vjp, point.hvp
        base_jacobian, base_push = point.jacobian, point.push

        def vjp(weights: np.ndarray) -> Array:
            counter.gradients += 1
            gradient = base_vjp(weights)
            if not all_finite(gradient):
                raise NonFiniteError(
                    f"The gradient of {self._culprit(point, weights)} is not finite."
                )
            if point is self._evaluated and isinstance(gradient, np.ndarray):
                self._pulled.note(weights, gradient)
            return gradient

        def jacobian(indices: np.ndarray) -> Array:
            assert base_jacobian is not None
            counter.gradients += len(indices)
            rows = base_jacobian(indices)
            if not all_finite(rows):
                asked = np.bincount(indices, minlength=point.values.size)
                raise NonFiniteError(
                    f"The gradient of {self._culprit(point, asked)} is not finite."
                )
            return rows

        def push(v: Array) -> np.ndarray:
            assert base_push is not None
            counter.gradients += 1
            changes = base_push(v)
            if not all_finite(changes):
                i = int(np.flatnonzero(~np.isfinite(changes))[0])
                raise NonFiniteError(f"The gradient of {self.label(i)} is not finite.")
            return changes

        forwarded = (
            None if base_jacobian is None else jacobian,
            None if base_push is None else push,
        )
        if base_hvp is None:
            return Point(point.x, point.values, vjp, None, None, *forwarded)

        def hvp(weights: np.ndarray, v: Array) -> Array:
            counter.products += 1
            return base_hvp(weights, v)

        base_matrix = point.matrix

        def matrix(weights: np.ndarray) -> np.ndarray:
            assert base_matrix is not None
            counter.products += -(-point.x.size // COLUMNS_PER_PRODUCT)
            return base_matrix(weights)

        whole = None if base_matrix is None else matrix
        return Point(point.x, point.values, vjp, hvp, point.curvature, *forwarded, whole)

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return a mini-batch that counts on the same counter."""
        batch = self._base.sample(rng)
        return self if batch is self._base else WatchedProblem(batch, self._counter)

    def smoothed(self, width: float) -> Problem | None:
        """Return the smoothed functions, counted on the same counter."""
        if self._smoothed is None or self._smoothed[0] != width:
            smooth = self._base.smoothed(width)
            if smooth is self._base:
                return self
            self._forget_smoothed()
            counted = None if smooth is None else WatchedProblem(smooth, self._counter)
            self._smoothed = width, counted
        return self._smoothed[1]

    def true_values(self, point: Point) -> np.ndarray:
        """Return the constraints that are meant."""
        return self._base.true_values(point)

    def kinks(self, x: np.ndarray, width: float) -> Kinks | None:
        """Return the nearest point on kinks."""
        return self._base.kinks(x, width)

    def saddle(self) -> Saddle | None:
        """Return the min-max form, counted on the same counter."""
        form = self._base.saddle()
        if form is None:
            return None
        return replace(form, functions=WatchedProblem(form.functions, self._counter))

    def _forget_smoothed(self) -> None:
        if self._smoothed is not None and self._smoothed[1] is not None:
            self._smoothed[1].forget()
        self._smoothed = None

    def _culprit(self, point: Point, weights: np.ndarray) -> str:
        """Name the function behind a weighted sum of gradients that is not finite."""
        for i in np.flatnonzero(weights):
            if not all_finite(point.gradient(int(i))):
                return self.label(int(i))
        return "a weighted sum"
