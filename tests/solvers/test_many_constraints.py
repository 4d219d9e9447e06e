"""A hundred thousand constraints: no method, and no certificate, forms their matrix of gradients."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from equipoise import Facts, Point, Problem, certify, sets, solve
from equipoise._problem import GRADIENTS_AT_ONCE
from equipoise.solvers import (
    PLADA,
    ConEx,
    ExternalRegret,
    MultiplierModel,
    ProxyLagrangian,
    SwitchingSubgradient,
    YuNeelyWei,
)
from equipoise.solvers._parts.estimates import jacobian_size

M, D, PER_ROW = 100_000, 200, 4
DENSE = 8 * M * D  # bytes of the matrix of all gradients


class ManyRows(Problem):
    """The nearest point to a target under ``A x <= 4``, A sparse."""

    def __init__(self, m=M, d=D, seed=0, push=True):
        rng = np.random.default_rng(seed)
        columns = rng.integers(d, size=(m, PER_ROW))
        start = np.arange(0, PER_ROW * m + 1, PER_ROW)
        entries = rng.normal(size=m * PER_ROW)
        self.A = sparse.csr_array((entries, columns.ravel(), start), shape=(m, d))
        self.A.sum_duplicates()
        self.target = rng.normal(size=d)
        self.dim, self.n_constraints, self.has_push = d, m, push
        self.domain, self.names = sets.L2Ball(20.0), tuple(map(str, range(m)))
        self.facts = Facts(smooth=True, convex=True, convex_constraints=True)

    def at(self, x):
        apart = x - self.target
        values = np.append(0.5 * apart @ apart, self.A @ x - 4.0)

        def vjp(weights):
            return weights[0] * apart + self.A.T @ weights[1:]

        def push(v):
            return np.append(apart @ v, self.A @ v)

        return Point(x, values, vjp, push=push if self.has_push else None)


@pytest.fixture(scope="module")
def problem():
    return ManyRows()


def peak(action):
    """The bytes that an action takes at most beyond what there was before, and what it returns."""
    tracemalloc.start()
    try:
        found = action()
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("solver", "share"),
    [
        (PLADA(), 1 / 4),
        (YuNeelyWei(steps=40), 1 / 4),
        (SwitchingSubgradient(), 1 / 4),
        (ConEx(), 1 / 4),
        (MultiplierModel(), 1 / 4),
        (ProxyLagrangian(player=ExternalRegret()), 1 / 2),  # it keeps the values of 64 snapshots
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_method_takes_far_less_memory_than_all_gradients(problem, solver, share):
    bytes_, result = peak(lambda: solve(problem, solver, max_steps=40, second_order=False))
    assert result.nit == 40
    assert bytes_ < share * DENSE


def test_auto_solves_it_and_certifies_it_in_little_memory(problem):
    bytes_, result = peak(lambda: solve(problem, tol=1e-6))
    assert result.success, result
    assert bytes_ < DENSE / 4
    assert np.count_nonzero(result.multipliers) > 10  # many are active
    bytes_, certificate = peak(lambda: certify(problem, result.x))
    assert bytes_ < DENSE / 4
    assert certificate.residual <= 1e-5


@pytest.mark.parametrize("push", [True, False])
@pytest.mark.parametrize("k", [0, 1, GRADIENTS_AT_ONCE, 2 * GRADIENTS_AT_ONCE + 1])
def test_products_of_gradients_with_a_vector_are_those_of_the_matrix(push, k):
    small = ManyRows(300, 7, push=push)
    rng = np.random.default_rng(k)
    x, v, indices = rng.normal(size=7), rng.normal(size=7), rng.integers(301, size=k)
    point = small.at(x)
    expected = np.array([point.gradient(i) @ v for i in indices])
    np.testing.assert_allclose(point.along(v, indices), expected, atol=1e-12)


def test_the_size_of_many_gradients_is_estimated():
    for seed in range(20):
        many = ManyRows(500, 9, seed)
        exact = np.sqrt((many.A.data**2).sum())
        assert jacobian_size(many.at(np.zeros(9))) == pytest.approx(exact, rel=0.4)
    few = ManyRows(30, 9)
    exact = np.sqrt((few.A.data**2).sum())
    assert jacobian_size(few.at(np.zeros(9))) == pytest.approx(exact, rel=1e-12)


def test_the_size_of_many_derivatives_is_that_of_the_constraints_alone():
    """Of 40 gradients at right angles every choice of signs gives the same length."""
    problem = ManyRows(40, 40)
    problem.A, problem.target = 3.0 * sparse.eye_array(40, format="csr"), np.full(40, 1e3)
    assert jacobian_size(problem.at(np.zeros(40))) == pytest.approx(3.0 * np.sqrt(40), rel=1e-12)
    problem.A = sparse.csr_array(np.tile([[2.0], [-2.0]], (20, 40)))
    assert jacobian_size(problem.at(np.zeros(40))) > 0.1 * 2.0 * 40
