"""The jump of `AugmentedNewton` against a naive twin: dense matrices, and multipliers by enumeration."""

from dataclasses import replace
from itertools import product as pairs

import numpy as np
import pytest

from equipoise import sets
from equipoise._problem import Point
from equipoise.problems import QuadraticProblem
from equipoise.solvers._newton.jump import JumpDirection, first_accepted, newton
from equipoise.solvers._newton.pair import pair_at
from equipoise.solvers._newton.preconditioner import Preconditioner

from .test_newton_twin import Ball, Box, functions


def preconditioned_cg(H, M, target, accuracy, small):
    """Solve ``H d = target`` with M, close to the inverse of H; whether it met only positive curvature."""
    if accuracy >= 1.0:
        return M @ target, True
    d, r = np.zeros(target.size), target
    z = p = M @ r
    goal, length = max(accuracy * np.linalg.norm(target), small), np.linalg.norm(z)
    while np.linalg.norm(r) > goal:
        bend = p @ H @ p
        if bend <= 1e-14 * (p @ p):
            return d + max(np.linalg.norm(d), length) * p / np.linalg.norm(p), False
        a = (r @ z) / bend
        d, last = d + a * p, r @ z
        r = r - a * (H @ p)
        z = M @ r
        p = z + (r @ z) / last * p
    return d, True


def complementary(S, q):
    """``mu >= 0`` with ``S mu >= q`` and equality where it is positive: by trying all active sets."""
    symmetric = (S + S.T) / 2
    for chosen in pairs([False, True], repeat=q.size):
        active = np.array(chosen, dtype=bool)
        mu = np.zeros(q.size)
        mu[active] = np.linalg.solve(symmetric[np.ix_(active, active)], q[active])
        if (mu >= 0).all() and (symmetric @ mu - q)[~active].min(initial=0.0) >= -1e-12:
            exact = np.linalg.solve(S[np.ix_(active, active)], q[active])
            if (exact > 0).all():
                mu[active] = exact
            return mu
    raise AssertionError("there is no such mu")


def direction(problem, domain, F, x, lam, b, accuracies, tol, bends):
    """Lines 1 to 3 of the box; None where they give up; `bends` where H was raised before."""
    P, (f, J) = problem.P, (problem.at(x).constraints, problem.P @ x + problem.q)
    g = J[0] + lam @ J[1:]
    T, bend = domain.face(x, -g)
    H = P[0] + np.einsum("i,ijk->jk", lam, P[1:]) + bend * np.eye(x.size)
    M = T @ np.linalg.inv(F)
    rows = np.array([i for i in range(lam.size) if lam[i] > 0 or lam[i] + b * f[i] > 0], dtype=int)
    A = J[1 + rows]
    d, convex = preconditioned_cg(T @ H @ T, M, -T @ g, accuracies[0], 0.3 * tol)
    if bends and rows.size and accuracies[0] < 1.0:
        convex = False
    if not convex:
        if rows.size == 0:
            return None
        H = H + b * A.T @ A
        M = T @ np.linalg.inv(F + b * A.T @ A)
        target = -T @ (g + b * A.T @ f[rows])
        d, fine = preconditioned_cg(T @ H @ T, M, target, accuracies[0], 0.3 * tol)
        if not fine:
            return None
    Z = np.array([preconditioned_cg(T @ H @ T, M, T @ a, accuracies[1], 0.0)[0] for a in A])
    Z = Z.reshape(rows.size, x.size).T
    mu = np.zeros(lam.size)
    mu[rows] = complementary(A @ Z, f[rows] + A @ d + A @ Z @ lam[rows])
    d = d - Z @ (mu - lam)[rows]
    pushed = np.maximum(mu + b * f, 0.0)
    slope = (J[0] + pushed[rows] @ A) @ d
    if np.linalg.norm(d) > 100 * max(1.0, np.linalg.norm(x)):
        return None
    return JumpDirection(d, mu, slope, rows, A, Z, not convex)


class Whole:
    """The whole space."""

    set = sets.WholeSpace()

    def project(self, x):
        return x

    def face(self, x, v):
        return np.eye(x.size), 0.0


def case(seed, domain, m, convex):
    """A problem, a point and multipliers of it, and an estimate of its Lagrangian's Hessian."""
    rng = np.random.default_rng(seed)
    P, q, c = functions(rng, m)
    if convex:
        P = P @ P / 4 + 0.1 * np.eye(5)
    problem = QuadraticProblem(P, q, c, domain.set)
    x = domain.set.project(2 * rng.normal(size=5))
    lam = np.maximum(rng.normal(size=m), 0.0)
    H = P[0] + np.einsum("i,ijk->jk", lam, P[1:])
    values, vectors = np.linalg.eigh(H)
    F = (vectors * (np.maximum(np.abs(values), 0.5) * rng.uniform(0.5, 2.0, 5))) @ vectors.T
    return problem, x, lam, F, float(rng.uniform(0.5, 20.0))


@pytest.mark.parametrize("accuracies", [(1.0, 1.0), (0.3, 0.2), (1e-9, 1e-3)])
@pytest.mark.parametrize("domain", [Whole(), Box(), Ball()], ids=["whole", "box", "ball"])
@pytest.mark.parametrize("convex", [True, False])
@pytest.mark.parametrize("bends", [True, False])
def test_directions(bends, convex, domain, accuracies):
    raised = refused = found = 0
    for seed in range(40):
        problem, x, lam, F, b = case(seed, domain, seed % 4, convex)
        at = pair_at(problem, problem.at(x), lam)
        tol = 1e-9 if seed % 3 else 1.0
        expected = direction(problem, domain, F, x, lam, b, accuracies, tol, bends)
        known = replace(Preconditioner.of(F), bends=bends)
        way, after = newton(problem, at, b, known, *accuracies, tol)
        if expected is None or way is None:
            assert way is expected
            refused += 1
            continue
        for name in ("d", "mu", "J", "Z", "slope"):
            here, there = getattr(way, name), getattr(expected, name)
            np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-5, err_msg=name)
        assert way.rows.tolist() == expected.rows.tolist()
        assert way.raised == expected.raised
        assert after.bends == (bends or way.raised)
        raised += way.raised
        found += 1
    assert found >= 5
    assert (raised + refused > 0) == ((bends or not convex) and accuracies[0] < 1.0)


def landing(problem, domain, x, lam, residual, way, b):
    """Line 4 of the box: the point, its multipliers and its residual."""

    def merit(y):
        f = problem.at(y).values
        pushed = np.maximum(way.mu + b * f[1:], 0.0)
        return f[0] + (pushed @ pushed - way.mu @ way.mu) / (2 * b)

    here = merit(x)
    for s in (1.0, 0.5, 0.25):
        y, new = domain.project(x + s * way.d), (1 - s) * lam + s * way.mu
        f, J = problem.at(y).constraints, problem.P @ y + problem.q
        g = J[0] + new @ J[1:]
        T, _ = domain.face(y, -g)
        left = max(np.linalg.norm(T @ g), np.abs(new) @ np.abs(f), f.max(initial=0.0))
        rise = merit(y) - here
        if rise <= 1e-4 * s * min(way.slope, 0.0) + 1e-14 * max(1.0, abs(here)):
            if left <= 3 * residual:
                return s, y, new, left
        elif s == 1.0 and rise <= 0.1 * residual and left <= residual / 2:
            return s, y, new, left
    return None


@pytest.mark.parametrize("domain", [Whole(), Box(), Ball()], ids=["whole", "box", "ball"])
def test_landings(domain):
    lengths = []
    for seed in range(80):
        problem, x, lam, F, b = case(seed, domain, 1 + seed % 3, convex=bool(seed % 2))
        at = pair_at(problem, problem.at(x), lam)
        way = newton(problem, at, b, Preconditioner.of(F), 1.0, 1.0, 0.0)[0]
        if way is None:
            continue
        expected = landing(problem, domain, x, lam, at.residual, way, b)
        landed = first_accepted(problem, at, way, b)
        if expected is None:
            assert landed is None
            lengths.append(0.0)
            continue
        s, y, new, left = expected
        lengths.append(s)
        np.testing.assert_allclose(landed.x, y, atol=1e-10)
        np.testing.assert_allclose(landed.lam, new, rtol=1e-9, atol=1e-10)
        assert landed.residual == pytest.approx(left, rel=1e-9)
    assert {0.5, 1.0} <= set(lengths)


def line(values, slope, way_slope=-1.0):
    """A step of length 1 along which the objective has these values, at 0 and at 1, 1/2 and 1/4."""
    at_length = dict(zip((0.0, 1.0, 0.5, 0.25), values))

    class Line(QuadraticProblem):
        def at(self, x):
            value = np.array([at_length[float(x[0])]])
            return Point(x, value, lambda w: w[0] * np.array([slope[float(x[0])]]))

    problem = Line(np.zeros((1, 1, 1)), np.zeros((1, 1)), [0.0], sets.WholeSpace())
    none = np.zeros(0)
    at = pair_at(problem, problem.at(np.zeros(1)), none)
    way = JumpDirection(np.ones(1), none, way_slope, none, none, none, raised=False)
    landed = first_accepted(problem, at, way, 1.0)
    return None if landed is None else float(landed.x[0])


@pytest.mark.parametrize(
    ("values", "left", "length"),
    [
        (
            (0.0, -1.1e-4, 9, 9),
            2.9,
            1.0,
        ),  # Armijo's rule, and a residual that grows less than tenfold
        ((0.0, -1.1e-4, 9, 9), 3.1, None),
        ((0.0, -0.9e-4, 9, 9), 0.49, 1.0),  # falls too little, but the residual is halved
        ((0.0, -0.9e-4, 9, 9), 0.51, None),
        ((0.0, 0.09, 9, 9), 0.49, 1.0),
        ((0.0, 0.11, 9, 9), 0.49, None),
        ((0.0, 9, -0.6e-4, 9), 2.9, 0.5),
        ((0.0, 9, -0.4e-4, -0.3e-4), 0.1, 0.25),  # only whole steps may rise
        ((0.0, 9, 9, -0.2e-4), 0.1, None),
        ((1e11, 1e11 + 5e-4, 9e11, 9e11), 2.9, 1.0),  # rounding errors are no rise
        ((1e11, 1e11 + 0.2, 9e11, 9e11), 2.9, None),
    ],
)
def test_the_rules_of_line_4(values, left, length):
    slopes = {0.0: 1.0, 1.0: left, 0.5: left, 0.25: left}
    assert line(values, slopes) == length


def test_a_direction_that_rises_needs_no_fall():
    slopes = {0.0: 1.0, 1.0: 1.0, 0.5: 1.0, 0.25: 1.0}
    assert line((0.0, 0.0, 9, 9), slopes, way_slope=1.0) == 1.0
    assert line((0.0, 1e-3, 9, 9), slopes, way_slope=1.0) is None
