"""A product of sets: each block of coordinates in its own set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.sets._linear_rows import LinearRows
from equipoise.sets._set import Set


@final
@dataclass(frozen=True, repr=False)
class Product(Set):
    r"""The product :math:`X_1 \times \dots \times X_k` of blocks of coordinates.

    Projection, tangent and normal cone act block by block; squared diameters add up.

    Parameters
    ----------
    blocks : sequence of (Set, int)
        The sets, in order, each with the number of its coordinates.

    Examples
    --------
    >>> from equipoise.sets import L1Ball, WholeSpace
    >>> Product([(L1Ball(1.0), 3), (WholeSpace(), 1)])
    Product(L1Ball(radius=1.0) x 3, WholeSpace() x 1)
    """

    name: ClassVar[str] = "product"

    blocks: Sequence[tuple[Set, int]]
    dim: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        given = _check.sequence("Product", "blocks", self.blocks)
        blocks = tuple(_block(i, block) for i, block in enumerate(given))
        if not blocks:
            _check.fail("Product", "blocks", "must hold at least one (set, size) pair", self.blocks)
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "dim", sum(size for _, size in blocks))

    def __repr__(self) -> str:
        shown = [f"{block!r} x {size}" for block, size in self.blocks[:4]]
        rest = len(self.blocks) - len(shown)
        return f"Product({', '.join(shown)}{f', and {rest} more' if rest else ''})"

    @property
    def diameter(self) -> float:
        """The root of the sum of squared diameters."""
        return math.hypot(*(block.diameter for block, _ in self.blocks))

    def project(self, x: Array) -> Array:
        """Return the projections of the blocks of `x`, joined."""
        x = self._checked(x)
        parts = [block.project(x[part]) for block, part in self._parts()]
        return namespace(x).concat(parts)

    def tangent_map(self, x: Array, v: Array) -> Callable[[Array], Array]:
        """Return the map that applies the blocks' maps to the blocks."""
        x = self._checked(x)
        xp = namespace(x)
        maps = [(block.tangent_map(x[part], v[part]), part) for block, part in self._parts()]
        return lambda w: xp.concat([on_block(w[..., part]) for on_block, part in maps], axis=-1)

    def bending(self, x: Array, v: Array) -> Array:
        """Return the factors of the blocks, joined."""
        x = self._checked(x)
        xp = namespace(x)
        ones = xp.ones_like(x)
        return xp.concat(
            [ones[part] * block.bending(x[part], v[part]) for block, part in self._parts()]
        )

    def _parts(self) -> Iterator[tuple[Set, slice]]:
        start = 0
        for block, size in self.blocks:
            yield block, slice(start, start + size)
            start += size

    def linear_rows(self, x: np.ndarray) -> LinearRows | None:
        """Return the steps from `x` that stay in the set."""
        ends = np.cumsum([size for _, size in self.blocks])[:-1]
        parts = [block.linear_rows(y) for (block, _), y in zip(self.blocks, np.split(x, ends))]
        known = [part for part in parts if part is not None]
        return LinearRows.joined(known) if len(known) == len(parts) else None


def _block(i: int, block: object) -> tuple[Set, int]:
    """Return entry `i` of the blocks, checked."""
    where = f"blocks[{i}]"
    if not (isinstance(block, tuple | list) and len(block) == 2 and isinstance(block[0], Set)):
        _check.fail("Product", where, "must be a pair (set, size)", block)
    inner, size = block[0], _check.count("Product", where, block[1], 1)
    if inner.dim is not None and inner.dim != size:
        _check.fail("Product", where, f"must have the size {inner.dim} of its set", size)
    return inner, size
