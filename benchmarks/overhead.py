"""What `solve` costs per step against a bare NumPy loop, and `certify` in units of one gradient.

The problem: logistic loss under a soft demographic-parity bound, dense rows, the switching
subgradient method. Ratios of times within one run; the smallest of several runs each.
"""

from __future__ import annotations

import os
import platform
import sys
import time

import numpy as np
import scipy
from scipy.special import expit
from threadpoolctl import threadpool_limits

import equipoise
from equipoise import Point, Problem, certify, sets, solve
from equipoise.solvers import Constant, SwitchingSubgradient

BOUND, ETA, SLACK, RADIUS = 0.02, 0.05, 1e-3, 20.0


def data(n, d, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d)) / np.sqrt(d)
    group = rng.random(n) < 0.4
    A[group, 0] += 1.0
    y = np.where(A @ rng.normal(size=d) + A[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    weights = np.where(group, 1 / group.sum(), -1 / (~group).sum())
    return A, y, weights


def forward(A, y, parity, x):
    s = A @ x
    p = expit(s)
    loss = np.mean(np.logaddexp(0.0, -y * s))
    gap = parity @ p
    return p, np.array([loss, gap - BOUND, -gap - BOUND])


def backward(A, y, parity, p, weights):
    slope = weights[0] * (p - (y > 0)) / y.size + (weights[1] - weights[2]) * parity * p * (1 - p)
    return A.T @ slope


class Parity(Problem):
    n_constraints, names = 2, ("gap", "-gap")

    def __init__(self, A, y, parity):
        self.A, self.y, self.parity = A, y, parity
        self.dim, self.domain = A.shape[1], sets.L2Ball(RADIUS)

    def at(self, x):
        p, values = forward(self.A, self.y, self.parity, x)
        return Point(x, values, lambda w: backward(self.A, self.y, self.parity, p, w))


def bare(A, y, parity, steps):
    """The same method by hand: one forward, one backward, one projection per step."""
    x = np.zeros(A.shape[1])
    weights = np.zeros(3)
    for _ in range(steps):
        p, values = forward(A, y, parity, x)
        i = 0 if values[1:].max() <= SLACK else 1 + int(values[1:].argmax())
        weights[:] = 0.0
        weights[i] = 1.0
        x = x - ETA * backward(A, y, parity, p, weights)
        length = np.sqrt(x @ x)
        if length > RADIUS:
            x *= RADIUS / length
    return x


def best(actions, repeats):
    """The smallest time of each action; the actions take turns, so a busy machine slows all."""
    times = [[] for _ in actions]
    answers = [None] * len(actions)
    for _ in range(repeats):
        for i, action in enumerate(actions):
            start = time.perf_counter()
            answers[i] = action()
            times[i].append(time.perf_counter() - start)
    return [min(t) for t in times], answers


def measure(n, steps, repeats, limit):
    """Print one comparison; return whether the goal is met."""
    A, y, parity = data(n, 123)
    problem = Parity(A, y, parity)
    solver = SwitchingSubgradient(step_size=Constant(ETA), slack=Constant(SLACK))
    (by_hand, ours), (x, result) = best(
        (lambda: bare(A, y, parity, steps), lambda: solve(problem, solver, max_steps=steps)),
        repeats,
    )
    (gradient, examined), _ = best(
        (lambda: problem.at(x).gradient(0), lambda: certify(problem, x)), 30
    )
    near = int((problem.at(x).constraints > -0.1).sum())
    print(
        f"n={n:6d} d=123, {steps} steps: bare loop {1e3 * by_hand / steps:.3f} ms/step, "
        f"solve {1e3 * ours / steps:.3f} ms/step, ratio {ours / by_hand:.3f} (goal {limit}); "
        f"same iterates to {np.abs(result.state.x - x).max():.0e}; {len(result.trace)} examinations; "
        f"certify = {examined / gradient:.2f} gradients ({near} constraints nearly active)"
    )
    return ours / by_hand <= limit


def main():
    print(
        f"equipoise {equipoise.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, {os.cpu_count()} cores"
    )
    met = []
    for threads in (None, 1):  # with several, waking BLAS threads between products is timed too
        print(f"BLAS threads: {threads or 'as the machine has them'}")
        with threadpool_limits(threads):
            met += [measure(5_000, 2_000, 3, 1.3), measure(50_000, 1_500, 2, 1.05)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
