"""Sets, and what they do with points."""

import numpy as np

from equipoise import sets
from tests.inputs.zoo import also, count, kind, non_negative, optional, positive, strict

BOX = sets.Box(-1, 1, dim=2)
BALL = sets.L2Ball(1.0)
INSIDE, DIRECTION = np.array([0.3, 0.4]), np.array([1.0, -1.0])

EXAMPLES = {
    "sets.WholeSpace": (sets.WholeSpace, {}),
    "sets.Box": (
        sets.Box,
        {
            "lower": kind("-inf", "negative", "half")([-2.0, -2.0]),
            "upper": kind("inf", "huge", "half", "negative")(3.0),
            "dim": optional(count(2)),
        },
    ),
    "sets.L2Ball": (
        sets.L2Ball,
        {"radius": positive(1.0), "center": optional(also(strict([0.0, 0.0]), "long array"))},
    ),
    "sets.L1Ball": (sets.L1Ball, {"radius": positive(1.0)}),
    "sets.Simplex": (sets.Simplex, {"total": positive(1.0)}),
    "sets.Product": (sets.Product, {"blocks": strict([(BALL, 2), (sets.L1Ball(1.0), 3)])}),
    "sets.Polytope": (sets.Polytope, {"A": strict(np.eye(2)), "b": strict([1.0, 1.0])}),
}
for each in (
    sets.WholeSpace(),
    BOX,
    BALL,
    sets.L2Ball(1.0, [0.0, 0.0]),
    sets.L1Ball(1.0),
    sets.Simplex(),
    sets.Product([(BALL, 1), (BALL, 1)]),
    sets.Polytope(np.eye(2), [1.0, 1.0]),
):
    name = f"sets.{type(each).__name__}{'' if each.dim is None else each.dim}"
    at = {"x": strict(each.project(INSIDE))}
    along = at | {"v": strict(DIRECTION)}
    if each.dim is None:
        at = {"x": also(at["x"], "long array")}  # it exists in every dimension
    EXAMPLES |= {
        f"{name}.project": (each.project, at),
        f"{name}.distance": (each.distance, at),
        f"{name}.contains": (each.contains, at | {"atol": non_negative(1e-8)}),
        f"{name}.tangent": (each.tangent, along),
        f"{name}.normal_distance": (each.normal_distance, along),
    }
