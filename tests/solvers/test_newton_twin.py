"""The descent of `AugmentedNewton` against a naive twin: dense matrices, and every number of its state."""

import math

import numpy as np
import pytest

from equipoise import sets
from equipoise.problems import QuadraticProblem
from equipoise.solvers import AugmentedNewton
from equipoise.solvers._newton import descent


class Box:
    """A box, its tangent cone at a point, and no bending."""

    set = sets.Box(-1.0, 1.5, dim=5)

    def project(self, x):
        return np.minimum(np.maximum(x, -1.0), 1.5)

    def face(self, x, v):
        """The matrix of the projection on the face on which `v` moves along the boundary."""
        held = ((x <= -1.0) & (v <= 0)) | ((x >= 1.5) & (v >= 0))
        return np.diag(np.where(held, 0.0, 1.0)), 0.0


class Ball:
    """A ball of radius 2: a force v along the normal n bends the boundary by ``<v, n> / 2``."""

    set = sets.L2Ball(2.0)

    def project(self, x):
        return x * min(1.0, 2.0 / np.linalg.norm(x))

    def face(self, x, v):
        if np.linalg.norm(x) < 2.0 - 1e-9 or v @ x <= 0:
            return np.eye(x.size), 0.0
        return np.eye(x.size) - np.outer(x, x) / (x @ x), v @ x / (x @ x)


def truncated_cg(H, target, goal):
    """Solve ``H d = target`` until the residual is at most `goal`, or a direction bends down."""
    d, r = np.zeros(target.size), target
    p = r
    while np.linalg.norm(r) > goal:
        bend = p @ H @ p
        if bend <= 1e-14 * (p @ p):
            reach = max(np.linalg.norm(d), np.linalg.norm(target))
            return d + reach * p / np.linalg.norm(p)
        a = (r @ r) / bend
        d, last = d + a * p, r
        r = r - a * (H @ p)
        p = r + (r @ r) / (last @ last) * p
    return d


class Twin:
    """Lines 2 to 5 of the box, for quadratic functions and without a preconditioner."""

    def __init__(self, problem, domain, x, b, tol, growth, patience):
        self.P, self.q, self.c = problem.P, problem.q, problem.c
        self.domain, self.x, self.b, self.tol, self.growth = domain, x, b, tol, growth
        self.patience = patience
        self.lam = np.zeros(len(self.c) - 1)
        F, _ = domain.face(x, -self.gradients(x)[0])
        self.accuracy = 0.1 * max(np.linalg.norm(F @ self.gradients(x)[0]), 1e-3)
        self.violation = self.radius = math.inf
        self.k = self.stalled = self.stuck = 0

    def values(self, x):
        return np.array([0.5 * x @ P @ x + q @ x + c for P, q, c in zip(self.P, self.q, self.c)])

    def gradients(self, x):
        return np.array([P @ x + q for P, q in zip(self.P, self.q)])

    def merit(self, x):
        f = self.values(x)
        pushed = np.maximum(self.lam + self.b * f[1:], 0.0)
        return f[0] + (pushed @ pushed - self.lam @ self.lam) / (2 * self.b)

    def pushed(self, x):
        return np.maximum(self.lam + self.b * self.values(x)[1:], 0.0)

    def slope(self, x):
        return self.gradients(x)[0] + self.pushed(x) @ self.gradients(x)[1:]

    def update(self):
        lam, f = self.pushed(self.x), self.values(self.x)[1:]
        now = np.abs(np.minimum(-f, lam / self.b)).max()
        if now > 0.25 * self.violation:
            b = min(self.growth * self.b, 1e10)
        else:
            b = self.b
        self.stuck = self.stuck + 1 if now > max(0.9 * self.violation, self.tol) else 0
        self.violation, self.lam, self.b, self.k = min(self.violation, now), lam, b, 0
        self.accuracy = max(self.accuracy / 10, self.tol / 10)

    def step(self):
        x = self.x
        self.k += 1
        g = self.slope(x)
        F, bend = self.domain.face(x, -g)
        enough = self.accuracy * max(1.0, 1e-3 * self.pushed(x).sum())
        if self.lam.size and (np.linalg.norm(F @ g) <= enough or self.k > self.patience):
            self.update()
            g = self.slope(x)
            F, bend = self.domain.face(x, -g)
        lam = self.pushed(x)
        active = self.gradients(x)[1:][lam > 0]
        H = self.P[0] + np.einsum("i,ijk->jk", lam, self.P[1:]) + self.b * active.T @ active
        H = H + bend * np.eye(x.size)
        target = -F @ g
        size = np.linalg.norm(target)
        d = truncated_cg(F @ H @ F, target, max(min(0.5, math.sqrt(size)) * size, 0.1 * self.tol))
        if not self.search(d, g, self.radius):
            diameter = self.domain.set.diameter
            self.stalled = 0 if self.search(target, g, diameter) else self.stalled + 1

    def search(self, d, g, radius):
        x, value = self.x, self.merit(self.x)
        self.radius = radius
        s = first = min(1.0, radius / np.linalg.norm(d))
        for _ in range(30):
            new = self.domain.project(x + s * d)
            fall = 1e-4 * min(g @ (new - x), 0.0)
            if self.merit(new) <= value + fall + 1e-14 * max(1.0, abs(value)):
                length = np.linalg.norm(new - x)
                if length <= 1e-15 * max(1.0, np.linalg.norm(x)):
                    return False
                self.x = new
                self.radius = max(radius, 10 * length) if s == first else 4 * length
                self.stalled = 0
                return True
            s = s / 2
        return False


def functions(rng, m, d=5):
    """Quadratic functions of which some bend down."""
    A = rng.normal(size=(m + 1, d, d))
    P = A + A.transpose(0, 2, 1) + np.array([0.5] + [2.0] * m)[:, None, None] * np.eye(d)
    return P, rng.normal(size=(m + 1, d)), np.append(0.0, rng.normal(size=m))


@pytest.mark.parametrize("patience", [100, 1])
@pytest.mark.parametrize("domain", [Box(), Ball()], ids=["box", "ball"])
@pytest.mark.parametrize("m", [0, 1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_naive_twin(seed, m, domain, patience, monkeypatch):
    monkeypatch.setattr(descent, "PATIENCE", patience)
    rng = np.random.default_rng(seed)
    problem = QuadraticProblem(*functions(rng, m), domain.set)
    x0 = domain.set.project(rng.normal(size=5))
    b, tol, growth = float(rng.uniform(0.5, 20.0)), 1e-7, 3.0
    method = AugmentedNewton(penalty=b, tol=tol, growth=growth)
    state, twin = method.init(problem, x0), Twin(problem, domain, x0, b, tol, growth, patience)
    for t in range(30):
        if method.verdict(state) is not None or state.b > 1e4:  # rounding errors grow with b
            break
        twin.x, twin.lam = state.pair.x, state.lam  # so that rounding errors do not add up
        state = method.step(problem, state, t, None)
        twin.step()
        np.testing.assert_allclose(state.pair.x, twin.x, rtol=0, atol=1e-8)
        np.testing.assert_allclose(state.lam, twin.lam, rtol=0, atol=1e-8 * (1 + twin.b))
        np.testing.assert_allclose(state.pair.lam, twin.pushed(twin.x), atol=1e-8 * (1 + twin.b))
        for name in ("b", "accuracy", "violation", "radius", "k", "stalled", "stuck"):
            here, there = getattr(state, name), getattr(twin, name)
            assert here == pytest.approx(there, rel=1e-6, abs=1e-8), name
    assert t >= 2
