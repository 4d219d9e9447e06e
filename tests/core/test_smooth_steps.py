"""The examiner's smooth subproblems, step by step against naive twins."""

import math

import numpy as np
import pytest

from equipoise import sets
from equipoise.certificate import _smooth as smooth
from equipoise.problems import ProximalProblem

from .affine import affine


def twin(function, domain, x, tol, steps):
    """FISTA with backtracking and restarts, as its docstring says; returns all points that it looks at."""
    z, momentum, L, idle, seen = x, 1.0, 1.0, 0, [x]
    for _ in range(steps):
        value, g = function(z)
        while True:
            new = domain.project(z - g / L)
            seen.append(new)
            slack = 1e-14 * max(1.0, abs(value))
            if function(new)[0] <= value + g @ (new - z) + L / 2 * np.sum((new - z) ** 2) + slack:
                break
            L = 2 * L
            if L > 1e30:
                return x, seen
        idle = idle + 1 if np.linalg.norm(new - x) <= 1e-16 * max(1.0, np.linalg.norm(x)) else 0
        if L * np.linalg.norm(new - z) <= tol or idle == 6:
            return new, seen
        if (z - new) @ (new - x) > 0:
            z, momentum = new, 1.0
        else:
            ahead = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            z, momentum = new + (momentum - 1) / ahead * (new - x), ahead
            seen.append(z)
        x, L = new, 0.95 * L
    return x, seen


def compared(function, domain, start, tol, steps=smooth.MAX_STEPS):
    seen = []

    def noted(z):
        seen.append(z)
        return function(z)

    found = smooth.accelerated(noted, domain, start, tol)
    end, expected = twin(function, domain, start, tol, steps)
    assert len(seen) == len(expected)
    np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-22)
    np.testing.assert_allclose(found, end, rtol=1e-9, atol=1e-22)
    return len(seen)


@pytest.mark.parametrize("seed", range(4))
def test_accelerated_steps_on_quadratic_functions(seed):
    rng = np.random.default_rng(seed)
    H, x = np.diag(10.0 ** rng.uniform(-1, 3, 3)), 100.0 * rng.normal(size=3)
    best = rng.normal(size=3) * 10.0

    def function(z):
        return float(0.5 * (z - best) @ H @ (z - best)), H @ (z - best)

    for domain in (sets.WholeSpace(), sets.L2Ball(12.0)):
        assert compared(function, domain, domain.project(x), 1e-3) > 10


def test_steps_of_rounding_size_end_the_search():
    """Down a slope so small that steps are rounding errors of 1, up to a wall that ends it otherwise."""
    domain, counts = sets.Box(1e-3 - 1e-13, 1.0, dim=1), set()
    for slope in np.logspace(-18, -15, 25):
        counts.add(
            compared(lambda z, s=slope: (s * z[0], np.array([s])), domain, np.array([1e-3]), 1e-30)
        )
    assert len(counts) > 3
    wall = sets.Box([1e-3 - 1e-10, 0.0], [1.0, 200.0])
    for slope in np.logspace(-17, -12, 11):  # 1e-14 is a rounding error of 100
        g = np.array([slope, 0.0])
        compared(lambda z, g=g: (g @ z, g), wall, np.array([1e-3, 100.0]), 1e-30)


def test_the_last_step_is_the_answer_where_steps_run_out(monkeypatch):
    monkeypatch.setattr(smooth, "MAX_STEPS", 3)
    H = np.array([40.0, 1.0])
    compared(lambda z: (0.5 * H @ z**2, H * z), sets.WholeSpace(), np.ones(2), 1e-9, steps=3)


def scripts():
    """Violations from loop to loop: falling, stuck, next to nothing, and on all scales in turn."""
    rng = np.random.default_rng(0)
    yield [1.0, 0.3, 0.29, 0.05, 1e-3, 2.4e-4, 1e-7, 1e-7, 3e-9, 2e-9, 4e-16, 3.9e-16, 0.0]
    yield [1.0, 0.95, 0.94, 0.93, 0.80, 0.75, 0.74, 0.73, 0.72, 0.71, 0.70, 0.69]
    yield [1e-7] * 40
    yield [2e-6, 1.9e-6, 1.8e-6, 1.7e-6, 1.6e-6, 1.55e-6, 1.5e-6, 1.5e-6, 1.5e-6]
    for _ in range(4):
        yield list(10.0 ** rng.uniform(-17, 1, 12))


@pytest.mark.parametrize("violations", list(scripts()))
def test_loops_move_multipliers_and_penalty(monkeypatch, violations):
    """Each loop is given a point of the violation that the script says, and an error bound."""
    rng = np.random.default_rng(1)
    errors = np.append(rng.permutation(np.linspace(0.2, 1.0, len(violations) - 1)), 0.05)
    sub = ProximalProblem(affine([[1.0], [-0.5]], [0.0, -0.1]), np.zeros(1), 1e-12)
    probe, seen = np.array([0.7]), []

    def accelerated(lagrangian, domain, y, tol):
        seen.append((*lagrangian(probe), tol))
        return np.array([violations[len(seen) - 1]])

    monkeypatch.setattr(smooth, "accelerated", accelerated)
    monkeypatch.setattr(smooth, "_error", lambda *_: errors[len(seen) - 1])
    y, multipliers, error = smooth.minimise_smooth(sub, 1e-12, 0.1)

    lam, penalty, last, stuck, accuracy = np.zeros(2), 10.0, math.inf, 0, 1e-2
    best = (None, None, math.inf)
    for k, violation in enumerate(violations):
        point = sub.at(probe)
        pushed = np.maximum(lam + penalty * point.constraints, 0.0)
        value = point.objective + (np.sum(pushed**2) - np.sum(lam**2)) / (2 * penalty)
        assert seen[k][0] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(seen[k][1], point.vjp(np.append(1.0, pushed)), rtol=1e-12)
        assert seen[k][2] == pytest.approx(accuracy, rel=1e-9)
        lam = np.maximum(lam + penalty * sub.at(np.array([violation])).constraints, 0.0)
        if errors[k] < best[2]:
            best = (violation, lam, errors[k])
        stuck = stuck + 1 if violation > max(0.9 * last, 1e-6) else 0
        if best[2] <= 0.1 or stuck == 6:
            break
        if violation > max(0.25 * last, 1e-15):
            penalty = min(3 * penalty, 1e8)
        last, accuracy = violation, max(accuracy / 10, 1e-13)
    assert len(seen) == k + 1
    assert (float(y[0]), error) == (best[0], best[2])
    np.testing.assert_allclose(multipliers, best[1], rtol=1e-12)


@pytest.mark.parametrize("slope", [1e2, 1e3, 1e4])
@pytest.mark.parametrize("start", [0.3, 1.0, 7.0])
def test_steps_at_a_kink_become_so_short_that_they_end_the_search(slope, start):
    """What counts is how many of them follow one another, not how many there have been."""

    def function(z):
        return slope * abs(z[0]), np.array([slope * np.sign(z[0])])

    assert compared(function, sets.WholeSpace(), np.array([start]), 1e-9) > 20
