"""Convex sets written out once more: their limits, their normals, and points inside them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

# Faces at most this far away, relative to the size of the point, count as reached; ten thousand times what
# the library allows itself, so that the judge errs in its favour.
REACHED = 1e-6


class Region(ABC):
    dim: int

    @abstractmethod
    def build(self, sets: Any) -> Any:
        """Make the library's set; `sets` is its module."""

    @abstractmethod
    def limits(self, x: np.ndarray) -> np.ndarray:
        """Numbers that are all <= 0 exactly for points of the set."""

    @abstractmethod
    def normals(self, x: np.ndarray, within: float = 0.0) -> np.ndarray:
        """Rows whose non-negative combinations are the normal cone at `x`.

        Or at points not farther than `within`, up to how much the boundary bends.
        """

    @property
    def bend(self) -> float:
        """By how much a normal of length 1 turns along the boundary, per length."""
        return 0.0

    @abstractmethod
    def inside(self, rng: np.random.Generator) -> np.ndarray:
        """A point of the set."""


@dataclass(eq=False)
class Whole(Region):
    dim: int

    def build(self, sets):
        return sets.WholeSpace()

    def limits(self, x):
        return np.zeros(1)

    def normals(self, x, within=0.0):
        return np.zeros((0, x.size))

    def inside(self, rng):
        return rng.normal(size=self.dim)


@dataclass(eq=False)
class Box(Region):
    low: np.ndarray
    high: np.ndarray

    @property
    def dim(self):
        return self.low.size

    def build(self, sets):
        return sets.Box(self.low, self.high)

    def limits(self, x):
        return np.concatenate((self.low - x, x - self.high))

    def normals(self, x, within=0.0):
        near = REACHED * np.maximum(1.0, np.abs(x))
        near = np.maximum(np.minimum(near, 1e-3 * (self.high - self.low)), within)
        eye = np.eye(x.size)
        return np.vstack((-eye[x <= self.low + near], eye[x >= self.high - near]))

    def inside(self, rng):
        low = np.where(np.isfinite(self.low), self.low, np.minimum(self.high, 2.0) - 3.0)
        high = np.minimum(self.high, low + 3.0)
        return low + (high - low) * rng.uniform(0.1, 0.9, self.dim)


@dataclass(eq=False)
class Ball(Region):
    center: np.ndarray
    radius: float

    @property
    def dim(self):
        return self.center.size

    def build(self, sets):
        return sets.L2Ball(self.radius, center=self.center)

    def limits(self, x):
        return np.atleast_1d(np.linalg.norm(np.asarray(x - self.center, dtype=float)) - self.radius)

    @property
    def bend(self):
        return 1.0 / self.radius

    def normals(self, x, within=0.0):
        out = np.asarray(x - self.center, dtype=float)
        length = np.linalg.norm(out)
        reached = length >= self.radius - max(within, REACHED * max(1.0, self.radius))
        return (out / length)[None] if reached else np.zeros((0, x.size))

    def inside(self, rng):
        v = rng.normal(size=self.dim)
        return self.center + v / np.linalg.norm(v) * self.radius * rng.uniform(0, 0.9)


@dataclass(eq=False)
class Cross(Region):
    """The points with ``|x|_1 <= radius``."""

    dim: int
    radius: float

    def build(self, sets):
        return sets.L1Ball(self.radius)

    def limits(self, x):
        return np.atleast_1d(np.abs(x).sum() - self.radius)

    def normals(self, x, within=0.0):
        near = max(within, REACHED * max(1.0, self.radius))
        if np.abs(x).sum() < self.radius - near * np.sqrt(x.size):
            return np.zeros((0, x.size))
        choices = [(-1.0, 1.0) if abs(v) <= near else (float(np.sign(v)),) for v in x]
        return np.array(list(product(*choices)))

    def inside(self, rng):
        v = rng.normal(size=self.dim)
        return v / np.abs(v).sum() * self.radius * rng.uniform(0, 0.9)


@dataclass(eq=False)
class Corner(Region):
    """The points ``x >= 0`` with sum `total`."""

    dim: int
    total: float

    def build(self, sets):
        return sets.Simplex(self.total)

    def limits(self, x):
        off = x.sum() - self.total
        return np.concatenate((-x, [off, -off]))

    def normals(self, x, within=0.0):
        ones, near = np.ones((1, x.size)), max(within, REACHED * max(1.0, self.total))
        return np.vstack((ones, -ones, -np.eye(x.size)[x <= near]))

    def inside(self, rng):
        return rng.dirichlet(np.ones(self.dim)) * self.total


@dataclass(eq=False)
class Rows(Region):
    """The points with ``A x <= b``."""

    A: np.ndarray
    b: np.ndarray
    point: np.ndarray  # one of them

    @property
    def dim(self):
        return self.A.shape[1]

    def build(self, sets):
        return sets.Polytope(self.A, self.b)

    def limits(self, x):
        return (self.A @ x - self.b) / np.linalg.norm(self.A, axis=1)

    def normals(self, x, within=0.0):
        near = REACHED * max(1.0, float(np.abs(x).max())) + within * np.linalg.norm(self.A, axis=1)
        return self.A[self.limits(x) >= -near]

    def inside(self, rng):
        return self.point


@dataclass(eq=False)
class Blocks(Region):
    parts: tuple[Region, ...]

    @property
    def dim(self):
        return sum(part.dim for part in self.parts)

    def split(self, x):
        return np.split(x, np.cumsum([part.dim for part in self.parts])[:-1])

    def build(self, sets):
        return sets.Product([(part.build(sets), part.dim) for part in self.parts])

    def limits(self, x):
        return np.concatenate([p.limits(v) for p, v in zip(self.parts, self.split(x))])

    @property
    def bend(self):
        return max(part.bend for part in self.parts)

    def normals(self, x, within=0.0):
        rows, start = [np.zeros((0, self.dim))], 0
        for part, v in zip(self.parts, self.split(x)):
            block = part.normals(v, within)
            whole = np.zeros((block.shape[0], self.dim))
            whole[:, start : start + part.dim] = block
            rows.append(whole)
            start += part.dim
        return np.vstack(rows)

    def inside(self, rng):
        return np.concatenate([part.inside(rng) for part in self.parts])


def random_region(rng: np.random.Generator, d: int, name: str = "") -> Region:
    """A set of a random kind, or of the kind named, around the origin."""
    names = ["whole", "box", "half", "ball", "cross", "corner", "rows", "blocks"]
    name = name or str(rng.choice(names))
    if name == "cross":
        d = min(d, 8)  # its normal cone has up to 2^d rays
    size = float(rng.choice([0.5, 1.0, 2.0, 5.0]))
    if name == "whole":
        return Whole(d)
    if name == "box":
        low = -size * rng.uniform(0.2, 1.0, d)
        return Box(low, size * rng.uniform(0.2, 1.0, d))
    if name == "half":
        return Box(np.where(rng.random(d) < 0.7, -size, -np.inf), np.full(d, np.inf))
    if name == "ball":
        return Ball(rng.normal(size=d) * rng.choice([0.0, 0.5]), size)
    if name == "cross":
        return Cross(d, size)
    if name == "corner":
        return Corner(d, size)
    if name == "rows":
        A, point = rng.normal(size=(int(rng.integers(1, d + 3)), d)), rng.normal(size=d) * 0.3
        return Rows(A, A @ point + rng.choice([0.0, 0.1, 1.0], size=A.shape[0]), point)
    first = max(1, d // 2)
    inner = [n for n in names if n != "blocks"]
    parts = [random_region(rng, first, str(rng.choice(inner)))]
    return Blocks((*parts, random_region(rng, max(1, d - first), str(rng.choice(inner)))))
