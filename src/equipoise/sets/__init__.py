"""Closed convex sets with a cheap projection, one file each.

A new set is one file and one line in the registry `SETS`.
"""

from equipoise.sets._box import Box
from equipoise.sets._l1_ball import L1Ball
from equipoise.sets._l2_ball import L2Ball
from equipoise.sets._linear_rows import LinearRows
from equipoise.sets._polytope import Polytope
from equipoise.sets._product import Product
from equipoise.sets._set import Set
from equipoise.sets._simplex import Simplex
from equipoise.sets._whole_space import WholeSpace

SETS: dict[str, type[Set]] = {
    kind.name: kind
    for kind in (
        WholeSpace,
        Box,
        L2Ball,
        L1Ball,
        Simplex,
        Product,
        Polytope,
    )
}
"""Every set, by name."""

__all__ = [
    "Set",
    "LinearRows",
    "WholeSpace",
    "Box",
    "L2Ball",
    "L1Ball",
    "Simplex",
    "Product",
    "Polytope",
    "SETS",
]
