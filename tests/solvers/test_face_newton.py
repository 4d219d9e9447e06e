"""Newton steps on the face of a linear program, against a dense solution."""

import numpy as np
import pytest

from equipoise import sets
from equipoise.problems import QuadraticProblem
from equipoise.solvers._newton.face_newton import AT_BOUND, LENGTHS, newton_points


@pytest.mark.parametrize(
    ("lam", "face"),
    [
        ([0.0, 3.0, 10.0], [1]),
        ([2.0, 0.0, 1.0], [0, 2]),
        ([2.0 * AT_BOUND * 10, 10 * (1 - 2 * AT_BOUND), 0.5 * AT_BOUND * 10], [0, 1]),
        ([0.0, 10.0, 10 * (1 - 0.5 * AT_BOUND)], []),
    ],
)
def test_steps_minimise_the_lagrangian_on_the_face(lam, face):
    """``min_z <g + H s, z> + <z, H z> / 2`` where the rows of the face are 0: by its linear system."""
    rng = np.random.default_rng(3)
    R = rng.normal(size=(5, 5))
    P = np.array([R @ R.T + np.eye(5), *(0.01 * (a + a.T) for a in rng.normal(size=(3, 5, 5)))])
    problem = QuadraticProblem(P, rng.normal(size=(4, 5)), rng.normal(size=4), sets.WholeSpace())
    x, s, lam = rng.normal(size=5), 0.1 * rng.normal(size=5), np.array(lam)
    J = P @ x + problem.q
    H = P[0] + np.einsum("i,ijk->jk", lam, P[1:])
    g, A = J[0] + lam @ J[1:] + H @ s, J[1:][face]
    k = len(face)
    system = np.block([[H, A.T], [A, np.zeros((k, k))]])
    z = np.linalg.solve(system, np.concatenate((-g, np.zeros(k))))[:5]
    points = list(newton_points(problem, problem.at(x), J, (s, lam), 10.0, 200))
    for a, point in zip(LENGTHS, points, strict=True):
        y = x + s + a * z
        y = y - np.linalg.pinv(A) @ problem.at(y).constraints[face] if k else y
        np.testing.assert_allclose(point.x, y, atol=2e-3 * np.linalg.norm(z))
    assert np.linalg.norm(z) > 0.1
