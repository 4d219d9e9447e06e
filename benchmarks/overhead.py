"""What `solve` costs per step against a bare NumPy loop, and `certify` in units of one gradient.

The problem: logistic loss under a soft demographic-parity bound, dense rows, the switching
subgradient method. The two loops race in one process and change turns every few steps, so whatever
else the machine does slows both alike; a race gives one ratio, and the median of several is judged.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from itertools import islice

import numpy as np
import scipy
from scipy.special import expit
from threadpoolctl import threadpool_limits

import equipoise
from equipoise import Point, Problem, certify, sets, solve
from equipoise.solvers import Constant, SwitchingSubgradient

BOUND, ETA, SLACK, RADIUS = 0.02, 0.05, 1e-3, 20.0
TURN = 10  # steps before the other loop goes on


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

    def __init__(self, A, y, parity, before=lambda: None):
        self.A, self.y, self.parity, self.before = A, y, parity, before
        self.dim, self.domain = A.shape[1], sets.L2Ball(RADIUS)

    def at(self, x):
        self.before()
        p, values = forward(self.A, self.y, self.parity, x)
        return Point(x, values, lambda w: backward(self.A, self.y, self.parity, p, w))


def bare(A, y, parity):
    """The same method by hand: one forward, one backward, one projection per step."""
    x = np.zeros(A.shape[1])
    weights = np.zeros(3)
    while True:
        p, values = forward(A, y, parity, x)
        i = 0 if values[1:].max() <= SLACK else 1 + int(values[1:].argmax())
        weights[:] = 0.0
        weights[i] = 1.0
        x = x - ETA * backward(A, y, parity, p, weights)
        length = np.sqrt(x @ x)
        if length > RADIUS:
            x *= RADIUS / length
        yield x


def clocks():
    """Seconds on the wall, and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


def race(rows, steps):
    """Let both take `steps` steps in turns; return the seconds of each, and where they ended."""
    loop = bare(*rows)
    calls, by_hand, x = 0, np.zeros(2), None

    def turn(count):
        nonlocal by_hand, x
        start = clocks()
        for latest in islice(loop, count):
            x = latest
        by_hand += clocks() - start

    def before():
        nonlocal calls
        calls += 1
        if calls % TURN == 0 and calls <= steps:
            turn(TURN)

    solver = SwitchingSubgradient(step_size=Constant(ETA), slack=Constant(SLACK))
    start = clocks()
    result = solve(Parity(*rows, before), solver, max_steps=steps)
    ours = clocks() - start - by_hand
    turn(steps - min(calls, steps) // TURN * TURN)
    return by_hand, ours, x, result


def certify_cost(rows, x, repeats=30):
    """The median of the cost of `certify` in units of one gradient, its forward pass included."""
    problem = Parity(*rows)
    ratios = []
    for _ in range(repeats):
        start = time.perf_counter()
        problem.at(x).gradient(0)
        middle = time.perf_counter()
        certify(problem, x)
        ratios.append((time.perf_counter() - middle) / (middle - start))
    return np.median(ratios)


def measure(n, steps, races, limit):
    """Print one comparison; return whether the goal is met."""
    rows = data(n, 123)
    race(rows, steps // 10)
    by_hand, ours, ends, results = zip(*(race(rows, steps) for _ in range(races)))
    ratios = np.array(ours) / np.array(by_hand)
    wall, processor = np.median(ratios, axis=0)
    x, result = ends[-1], results[-1]
    near = int((Parity(*rows).at(x).constraints > -0.1).sum())
    print(
        f"n={n:6d} d=123, {steps} steps, {races} races: bare loop "
        f"{1e3 * np.median(by_hand, axis=0)[0] / steps:.3f} ms/step, solve "
        f"{1e3 * np.median(ours, axis=0)[0] / steps:.3f} ms/step, ratio {wall:.3f} "
        f"(from {ratios[:, 0].min():.3f} to {ratios[:, 0].max():.3f}; by processor time "
        f"{processor:.3f}); goal {limit}; same iterates to {np.abs(result.state.x - x).max():.0e}; "
        f"{len(result.trace)} examinations; certify = {certify_cost(rows, x):.2f} gradients "
        f"({near} constraints nearly active)"
    )
    return wall <= limit


def main():
    print(
        f"equipoise {equipoise.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, {os.cpu_count()} cores"
    )
    met = []
    for threads in (None, 1):  # with several, waking BLAS threads between products is timed too
        print(f"BLAS threads: {threads or 'as the machine has them'}")
        with threadpool_limits(threads):
            met += [measure(5_000, 2_000, 5, 1.3), measure(50_000, 1_500, 3, 1.05)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
