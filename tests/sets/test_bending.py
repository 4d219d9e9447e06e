"""The bending of a boundary: what a step along a face and back costs, to second order."""

import numpy as np
import pytest

from equipoise import sets


@pytest.mark.parametrize(
    "domain",
    [
        sets.L2Ball(0.7),
        sets.L2Ball(0.5, center=[0.2, -0.1, 0.3, 0.0]),
        sets.Product([(sets.L2Ball(0.4), 2), (sets.Box(-1, 1, dim=2), 2)]),
        sets.L1Ball(1.0),
        sets.Simplex(1.0),
        sets.Box(-0.3, 0.3, dim=4),
    ],
    ids=repr,
)
def test_second_order_cost_of_moving_along_a_face(domain):
    """For f = -<v, .>: f(P(x + t w)) - f(x) = bending |w|^2 t^2 / 2 + O(t^3) along tangents w with
    v normal."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        far = 2 * rng.normal(size=4)
        x = domain.project(far)
        v = far - x  # a normal vector
        bending = np.broadcast_to(domain.bending(x, v), 4)
        w = domain.tangent_map(x, v)(rng.normal(size=4))
        t = 1e-4
        cost = -v @ (domain.project(x + t * w) - x)
        assert cost == pytest.approx(0.5 * t**2 * (bending * w) @ w, abs=1e-10)


def test_no_bending_inside():
    assert sets.L2Ball(1.0).bending(np.array([0.1, 0.2]), np.array([1.0, 1.0])) == 0.0
    assert sets.L2Ball(1.0).bending(np.array([1.0, 0.0]), np.array([-1.0, 0.0])) == 0.0
